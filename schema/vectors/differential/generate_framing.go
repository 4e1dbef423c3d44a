package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/p20export/p20export/capture"
)

// encode returns a response with the events.
func (g *streams) encode(f capture.Framing, events []string) []byte {
	var b bytes.Buffer
	if g.chance(0.05) {
		b.WriteString("\ufeff")
		g.record("a byte order mark")
	}
	switch f {
	case capture.NDJSON:
		g.lines(&b, events)
	case capture.JSON:
		g.array(&b, events)
	default:
		g.eventStream(&b, events)
	}
	return b.Bytes()
}

// eventStream writes events as an event stream.
func (g *streams) eventStream(b *bytes.Buffer, events []string) {
	end := func() string { return "\n" }
	switch g.IntN(8) {
	case 0:
		end = func() string { return "\r" }
		g.record("lines that end with CR")
	case 1:
		end = func() string { return "\r\n" }
		g.record("lines that end with CRLF")
	case 2:
		end = func() string {
			e := pick(g.generator, []string{"\n", "\r", "\r\n"})
			if last := b.Len() - 1; e == "\n" && last >= 0 && b.Bytes()[last] == '\r' && g.chance(0.999) {
				e = "\r" // both would end one line
			}
			return e
		}
		g.record("lines that end in different ways")
	default:
		g.record("lines that end with LF")
	}
	field := "data: "
	if g.chance(0.1) {
		field = "data:"
		g.record("no space behind data:")
	}
	fields, split := g.chance(0.2), g.chance(0.1)
	for _, e := range events {
		for fields && g.chance(0.3) {
			b.WriteString(pick(g.generator, []string{": keep-alive", "event: message", "id: 7", "retry: 10", ":", "datas: x", "dat", " data: x", "data : x", "Data: x", "event:" + end() + end()}) + end())
			g.record("comments and other fields")
		}
		if split && g.chance(0.3) {
			e = g.spaced(e, []string{"\n", "\n", " ", "\t"})
			g.record("an event over several data lines")
		}
		for line := range strings.SplitSeq(e, "\n") {
			b.WriteString(field + line + end())
		}
		b.WriteString(end())
		if g.chance(g.odd / 10) {
			b.WriteString(pick(g.generator, []string{"data:", "data", "data: ", "data: " + end() + "data:"}) + end() + end())
			g.record("an event with empty data")
		}
	}
	if g.chance(0.03) {
		b.WriteString(pick(g.generator, []string{`data: {"type":"RAW"}`, `data: {"type":"RUN_ERROR"}` + end(), "data:", "data", "id: 7"}))
		g.record("an incomplete last event")
	} else if g.chance(g.odd / 4) {
		b.Truncate(max(0, b.Len()-1-g.IntN(3)))
		g.record("an incomplete last event")
	}
}

// lines writes events as JSON lines.
func (g *streams) lines(b *bytes.Buffer, events []string) {
	end := "\n"
	if g.chance(0.2) {
		end = "\r\n"
		g.record("JSON lines that end with CRLF")
	} else {
		g.record("JSON lines that end with LF")
	}
	blank := g.chance(0.2)
	for i, e := range events {
		for blank && g.chance(0.2) {
			b.WriteString(pick(g.generator, []string{"", " ", "\t", "\r"}) + end)
			g.record("blank JSON lines")
		}
		if g.chance(0.05) {
			e = pick(g.generator, []string{" ", "\t"}) + g.spaced(e, []string{" ", "\t"}) + " "
		}
		b.WriteString(e)
		if i < len(events)-1 || g.chance(0.8) {
			b.WriteString(end)
		}
	}
}

// array writes events as one JSON array.
func (g *streams) array(b *bytes.Buffer, events []string) {
	space := ""
	if g.chance(0.4) {
		space = pick(g.generator, []string{"\n", "\r\n  ", " ", "\t"})
		g.record("an array with white space")
	}
	b.WriteString(space + "[" + space)
	for i, e := range events {
		if i > 0 {
			b.WriteString("," + space)
		}
		if space != "" && g.chance(0.3) {
			e = g.spaced(e, []string{"\n", "\r\n", " ", "\t", "\r"})
		}
		b.WriteString(e + space)
	}
	switch {
	case g.chance(0.01 + g.odd/4):
		b.WriteString(pick(g.generator, []string{"", ",]", ",,]", "] x", "]]", "],", "}", "][]", `]{"type":"RAW"}`}))
		g.record("a broken array")
	default:
		b.WriteString("]" + space)
	}
}

// spaced inserts white space around some tokens of a JSON text.
func (g *streams) spaced(text string, spaces []string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		b.WriteByte(c)
		switch {
		case inString && c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			inString = !inString
		case !inString && strings.IndexByte(",:{[", c) >= 0 && g.chance(0.3):
			b.WriteString(pick(g.generator, spaces))
		}
	}
	return b.String()
}

// arrivals returns the arrivals.tsv of a response of size bytes.
func (g *streams) arrivals(size int) []byte {
	var b []byte
	received, micros := 0, g.IntN(1e6)
	if g.chance(0.1) {
		micros += 3_600_000_000 * g.IntN(20)
	}
	for received < size {
		received = min(size, received+1+g.IntN(max(1, size/(1+g.IntN(30)))))
		b = strconv.AppendInt(b, int64(received), 10)
		b = fmt.Appendf(b, "\t%d\n", micros)
		micros += g.IntN(2_000_000) * g.IntN(2)
	}
	return b
}
