//go:build live

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
)

// structure describes what captures of one scenario have in common: everything except ids,
// times, texts and the sizes of reads.
type structure struct {
	HTTPStatus  int
	ContentType string
	End         capture.End
	Framing     capture.Framing
	// Sequence has the type and the keys of each event. Equal consecutive elements are
	// counted, as in "TEXT_MESSAGE_CONTENT delta messageId x6".
	Sequence []string
	// Snapshots has each snapshot's messages as "role: keys".
	Snapshots [][]string
	Terminal  string
}

// readStructure reads a capture's structure.
func readStructure(path string) (*structure, error) {
	c, err := capture.Open(context.Background(), path, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := &structure{Framing: c.Framing()}
	if m := c.Manifest(); m != nil {
		s.ContentType, s.End = m.Source.ContentType, m.End
		if m.Source.Status != nil {
			s.HTTPStatus = *m.Source.Status
		}
	}
	b := &structureBuilder{s: s}
	if _, err := envelope.Scan(c, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b.flush()
	return s, nil
}

type structureBuilder struct {
	s     *structure
	last  string
	count int
}

// Event implements envelope.Visitor.
func (b *structureBuilder) Event(_ *envelope.Run, e *envelope.Event) {
	one := strings.Join(append([]string{e.Type}, eventKeys(e)...), " ")
	if one != b.last {
		b.flush()
		b.last = one
	}
	b.count++
	if e.Type == envelope.MessagesSnapshot {
		b.s.Snapshots = append(b.s.Snapshots, messageKeys(e))
	}
}

// End implements envelope.Visitor.
func (b *structureBuilder) End(run *envelope.Run) error {
	if run.Terminal != nil {
		b.s.Terminal = run.Terminal.Type
	}
	return nil
}

func (b *structureBuilder) flush() {
	if b.count > 1 {
		b.last += fmt.Sprintf(" x%d", b.count)
	}
	if b.count > 0 {
		b.s.Sequence = append(b.s.Sequence, b.last)
	}
	b.last, b.count = "", 0
}

func eventKeys(e *envelope.Event) []string {
	var names []string
	for name := range e.Names {
		if name != "type" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func messageKeys(e *envelope.Event) []string {
	var list []string
	for _, m := range envelope.Messages(e) {
		names := slices.Sorted(m.Names)
		role := ""
		if v, ok := m.Get("role"); ok {
			role, _ = v.Text()
		}
		list = append(list, role+": "+strings.Join(names, " "))
	}
	return list
}
