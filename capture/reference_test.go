package capture

import (
	"bytes"
	"strings"
)

// The splitters of this file implement the text of the standards for whole inputs,
// without regard to speed. They share no code with Splitter.

// seen is a frame for comparison.
type seen struct {
	Offset, Bytes, End int64
	Data               string
}

// referenceSSE implements WHATWG HTML §9.2.6 sentence by sentence. It returns the
// offset of the first data byte of an incomplete event, or -1.
func referenceSSE(in []byte) (frames []seen, incomplete int64) {
	at := 0
	if bytes.HasPrefix(in, []byte("\xEF\xBB\xBF")) {
		at = 3
	}
	buffer, first, last := "", int64(-1), int64(0)
	process := func(line string, start int) {
		if strings.HasPrefix(line, ":") {
			return
		}
		field, value, colon := strings.Cut(line, ":")
		where := start + len(line)
		if colon {
			value = strings.TrimPrefix(value, " ")
			where -= len(value)
		}
		if field != "data" {
			return
		}
		buffer += value + "\n"
		if first < 0 {
			first = int64(where)
		}
		last = int64(where + len(value))
	}
	for at < len(in) {
		n := bytes.IndexAny(in[at:], "\r\n")
		if n < 0 {
			process(string(in[at:]), at)
			break
		}
		line, eol := string(in[at:at+n]), at+n
		next := eol + 1
		if in[eol] == '\r' && next < len(in) && in[next] == '\n' {
			next++
		}
		if line == "" {
			if buffer != "" {
				frames = append(frames, seen{first, last - first, int64(eol + 1), strings.TrimSuffix(buffer, "\n")})
			}
			buffer, first = "", -1
		} else {
			process(line, at)
		}
		at = next
	}
	return frames, first
}

const referenceSpace = " \t\r\n"

// referenceNDJSON splits at line feeds.
func referenceNDJSON(in []byte) (frames []seen) {
	at := 0
	if bytes.HasPrefix(in, []byte("\xEF\xBB\xBF")) {
		at = 3
	}
	for _, line := range strings.SplitAfter(string(in[at:]), "\n") {
		if data := strings.Trim(line, referenceSpace); data != "" {
			before := len(line) - len(strings.TrimLeft(line, referenceSpace))
			frames = append(frames, seen{int64(at + before), int64(len(data)), int64(at + len(line)), data})
		}
		at += len(line)
	}
	return frames
}

// referenceArray splits at the commas of the outermost array. It returns the offset of
// the first byte that makes the array malformed, or of the incomplete part.
func referenceArray(in []byte) (frames []seen, malformed, incomplete int64) {
	at := 0
	if bytes.HasPrefix(in, []byte("\xEF\xBB\xBF")) {
		at = 3
	}
	space := func() {
		for at < len(in) && strings.IndexByte(referenceSpace, in[at]) >= 0 {
			at++
		}
	}
	space()
	if at == len(in) || in[at] != '[' {
		return nil, int64(at), -1
	}
	at++
	for {
		space()
		start, depth, inString := at, 0, false
		for ; at < len(in); at++ {
			c := in[at]
			if inString {
				if c == '\\' {
					at++
				} else if c == '"' {
					inString = false
				}
				continue
			}
			if c == '"' {
				inString = true
			}
			if depth == 0 && (c == ',' || c == ']') {
				break
			}
			if c == '[' || c == '{' {
				depth++
			}
			if (c == ']' || c == '}') && depth > 0 {
				depth--
			}
		}
		if at >= len(in) {
			return frames, -1, int64(start)
		}
		data := strings.TrimRight(string(in[start:at]), referenceSpace)
		closing := in[at] == ']'
		at++
		if data != "" || !closing || len(frames) > 0 {
			frames = append(frames, seen{int64(start), int64(len(data)), int64(at), data})
		}
		if closing {
			break
		}
	}
	space()
	if at < len(in) {
		return frames, int64(at), -1
	}
	return frames, -1, -1
}
