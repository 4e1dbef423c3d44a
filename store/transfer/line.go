package transfer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// Schema is the value of the schema key of the portable form, and SealedSchema that of a file
// that has seals.
const (
	Schema       = "p20export.log.v1"
	SealedSchema = "p20export.log.v2"
)

// head is the first line of the portable form.
type head struct {
	Schema string `json:"schema"`
	Thread string `json:"thread"`
	// After is the position before that of the first entry.
	After int64 `json:"after"`
}

// tail is the last line.
type tail struct {
	Entries int64 `json:"entries"`
	// Digest is that of all lines before, with their line feeds.
	Digest digest.Digest `json:"digest"`
}

// line is a line with an entry. It has exactly one of JSON, Text and Base64.
type line struct {
	Position int64      `json:"position"`
	Stream   string     `json:"stream"`
	Kind     store.Kind `json:"kind"`
	// Arrived is the time in the format of timeLayout, or "" if it is not known.
	Arrived string         `json:"arrived,omitempty"`
	JSON    jsontext.Value `json:"json,omitzero"`
	Text    *string        `json:"text,omitzero"`
	Base64  *string        `json:"base64,omitzero"`
}

// timeLayout is RFC 3339 in UTC with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// setData sets the data of a line. The form depends only on the data: JSON text without
// line breaks and surrounding space is written as it is, other text as a string unless it
// has control characters that a string would expand, and everything else in Base64.
func (l *line) setData(data []byte) {
	switch {
	case isRaw(data):
		l.JSON = data
	case isText(data):
		text := string(data)
		l.Text = &text
	default:
		text := base64.StdEncoding.EncodeToString(data)
		l.Base64 = &text
	}
}

// duplicates accepts what agents send: objects that have a name twice.
func duplicates() jsontext.Options { return jsontext.AllowDuplicateNames(true) }

// isRaw reports whether data is JSON text that can be part of a line as it is.
func isRaw(data []byte) bool {
	if len(data) == 0 || isSpace(data[0]) || isSpace(data[len(data)-1]) || bytes.ContainsAny(data, "\r\n") {
		return false
	}
	return strictjson.Nests(data, duplicates())
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// isText reports whether data is text whose form as a JSON string is at most twice as long.
func isText(data []byte) bool {
	return utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && !isSpace(byte(r)) })
}

// newLine returns the line of an entry.
func newLine(e *store.Entry) (*line, error) {
	l := &line{Position: e.Position, Stream: e.Stream, Kind: e.Kind}
	if !e.Arrived.IsZero() {
		at := e.Arrived.UTC()
		if y := at.Year(); y < 1 || y > 9999 {
			return nil, fmt.Errorf("entry %d arrived in the year %d, which the portable form cannot express", e.Position, y)
		}
		l.Arrived = at.Format(timeLayout)
	}
	l.setData(e.Data)
	return l, nil
}

// encode returns a line with its line feed.
func (l *line) encode() ([]byte, error) {
	bare := *l
	bare.JSON = nil
	b, err := encode(&bare)
	if err != nil || l.JSON == nil {
		return b, err
	}
	// Package json would remove the white space of the value.
	b = slices.Grow(b[:len(b)-len("}\n")], len(l.JSON)+16)
	b = append(append(b, `,"json":`...), l.JSON...)
	return append(b, "}\n"...), nil
}

// decodeLine returns the entry of a line with its line feed. The line must be the only one
// that the portable form allows for the entry.
func decodeLine(text []byte) (*store.Entry, error) {
	var l line
	if err := unmarshal(text, &l); err != nil {
		return nil, err
	}
	e := &store.Entry{Position: l.Position, Stream: l.Stream, Kind: l.Kind}
	var err error
	if l.Arrived != "" {
		if e.Arrived, err = time.Parse(timeLayout, l.Arrived); err != nil {
			return nil, fmt.Errorf("the time does not have the format %s", timeLayout)
		}
		if e.Arrived.IsZero() {
			return nil, errors.New("the time is year 1, which means that it is not known")
		}
	}
	switch {
	case l.Text != nil:
		e.Data = []byte(*l.Text)
	case l.Base64 != nil:
		e.Data, err = base64.StdEncoding.DecodeString(*l.Base64)
	default:
		e.Data = l.JSON
	}
	if err != nil {
		return nil, err
	}
	canonical, err := newLine(e)
	if err != nil {
		return nil, err
	}
	again, err := canonical.encode()
	if err != nil {
		return nil, err
	}
	return e, compareLines(again, text)
}

// encode returns the head or the tail as a line with its line feed.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

// decode decodes a head or a tail. The line must be the one that encode returns.
func decode(text []byte, v any) error {
	if err := unmarshal(text, v); err != nil {
		return err
	}
	again, err := encode(v)
	if err != nil {
		return err
	}
	return compareLines(again, text)
}

// unmarshal decodes a line. It accepts duplicate names, which events can have; those of the
// line itself are found when it is compared with its canonical form.
func unmarshal(text []byte, v any) error {
	err := json.Unmarshal(text, v, duplicates(), json.RejectUnknownMembers(true))
	return strictjson.Explain(err, "a line of the portable form")
}

// compareLines returns an error if a line is not the canonical one.
func compareLines(canonical, text []byte) error {
	if bytes.Equal(canonical, text) {
		return nil
	}
	at := 0
	for at < min(len(canonical), len(text)) && canonical[at] == text[at] {
		at++
	}
	return fmt.Errorf("the line is not in the canonical form; it differs from byte %d on", at)
}
