package transport

import (
	"bytes"
	"fmt"

	"github.com/p20export/p20export/finding"
)

// checkLines reports the first line of an event stream that is not a field that the standard
// defines (WHATWG HTML §9.2.6), and how many there are. The last line of the head may be cut.
func checkLines(head []byte) *finding.Finding {
	var first *finding.Finding
	rest, offset, ignored := bytes.TrimPrefix(head, []byte("\ufeff")), 0, 0
	offset = len(head) - len(rest)
	lineFeeds := 0
	for len(rest) > 0 {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			break
		}
		if line := rest[:end]; !isField(line) {
			ignored++
			if first == nil {
				f := finding.Violation("N3", "readers ignore the line %s, which is neither a field nor a comment", finding.Quote(string(line[:min(len(line), 80)]))).
					WithOffset(int64(offset)).WithResponseLine(lineFeeds + 1)
				first = &f
			}
		}
		if rest[end] == '\n' {
			lineFeeds++
		}
		rest, offset = rest[end+1:], offset+end+1
	}
	switch {
	case ignored == 2:
		first.Message += "; 1 more line is ignored"
	case ignored > 2:
		first.Message += fmt.Sprintf("; %d more lines are ignored", ignored-1)
	}
	return first
}

// isField reports whether a line is empty, a comment, or a field that the standard defines.
func isField(line []byte) bool {
	name, _, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "", "data", "event", "id", "retry":
		return true
	}
	return false
}
