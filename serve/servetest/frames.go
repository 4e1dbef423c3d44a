package servetest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A frame is a server-sent event.
type frame struct{ id, data string }

// position returns the position that the id names, and the number of compacted events
// after it. Both are 0 if there is no id.
func (f frame) position() (position int64, after int, err error) {
	if f.id == "" {
		return 0, 0, nil
	}
	place, _, _ := strings.Cut(f.id, "-")
	whole, part, dotted := strings.Cut(place, ".")
	position, err = strconv.ParseInt(whole, 10, 64)
	if err == nil && dotted {
		after, err = strconv.Atoi(part)
	}
	if err != nil || position < 0 || dotted && after < 1 {
		return 0, 0, fmt.Errorf("the id %q is not valid", f.id)
	}
	return position, after, nil
}

// number returns the position, or 0 if the id names none.
func (f frame) number() int64 {
	position, _, _ := f.position()
	return position
}

// readFrame reads the next frame in the one form that the server writes, which any parser
// understands. Comments are skipped. The error is io.EOF at the end of the body.
func readFrame(r *bufio.Reader) (frame, error) {
	var f frame
	var data []string
	for lines := 0; ; lines++ {
		line, err := r.ReadString('\n')
		if err == io.EOF && lines == 0 && line == "" {
			return frame{}, err
		}
		if err != nil {
			return frame{}, fmt.Errorf("%w: %w", errBroken, err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == ":" && lines == 0:
			blank, err := r.ReadString('\n')
			if err != nil {
				return frame{}, fmt.Errorf("%w: %w", errBroken, err)
			}
			if blank != "\n" {
				return frame{}, fmt.Errorf("a comment is followed by %q", blank)
			}
			lines = -1
		case line == "" && len(data) > 0:
			f.data = strings.Join(data, "\n")
			return f, nil
		case strings.HasPrefix(line, "id: ") && lines == 0:
			f.id = strings.TrimPrefix(line, "id: ")
		case strings.HasPrefix(line, "data: ") && !strings.Contains(line, "\r"):
			data = append(data, strings.TrimPrefix(line, "data: "))
		default:
			return frame{}, fmt.Errorf("the response has the line %q", line)
		}
	}
}
