package lint_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/lint"
)

// aboutCaptures are the codes of findings that only a capture shows, and W20 its rule.
var aboutCaptures = []finding.Code{
	finding.CaptureCutShort, finding.HTTPStatus, finding.NoRun, finding.RunNotTerminated, finding.EventIncomplete, finding.ArrivalsMalformed, finding.ArrayMalformed, finding.FindingsUnlisted,
}

// describe describes findings about events.
func describe(list []finding.Finding) (lines []string) {
	for _, f := range list {
		if slices.Contains(aboutCaptures, f.Code) || strings.HasPrefix(f.Rule, "N") || f.Rule == "W20" || f.EventIndex == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %s %s %s", *f.EventIndex, f.Severity, f.Code, f.Rule, f.Pointer, f.Message))
	}
	slices.Sort(lines)
	return lines
}

// stream returns a Stream that has checked the events of a capture. The position of an event is
// its index.
func stream(t *testing.T, path string) (s *lint.Stream, events int) {
	t.Helper()
	c, err := capture.Open(context.Background(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s = lint.NewStream()
	if request, err := c.Request(); err != nil {
		t.Fatal(err)
	} else if request != nil {
		s.Seed(request)
	}
	for {
		f, err := c.Next()
		if err == io.EOF {
			return s, events
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Event(int64(f.Index), f.Data)
		events++
	}
}

// A Stream has the findings of Capture about the events of every committed capture.
func TestStream(t *testing.T) {
	found, err := capture.Find(context.Background(), []string{"../../discovery/captures", "../../discovery/drift/captures"})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range found {
		row := lint.Capture(context.Background(), inputs.File(c.Path), lint.Options{}, nil)
		if len(row.Findings) > 0 && finding.Has(row.Findings, finding.FramingOpaque) {
			continue
		}
		s, events := stream(t, c.Path)
		list, more := s.Findings(true)
		if more != 0 || len(list) > finding.MaxListed || events != row.Events {
			t.Errorf("%s: %d findings of %d events, and %d more", c.Path, len(list), events, more)
		}
		want := describe(row.Findings)
		total += len(want)
		if diff := cmp.Diff(want, describe(list)); diff != "" {
			t.Errorf("%s (-capture +stream):\n%s", c.Path, diff)
		}
	}
	if total < 50 {
		t.Errorf("only %d findings were compared", total)
	}
}

// Forget drops findings, and the rules still know the events. The limit counts the findings
// since then.
func TestStreamForgets(t *testing.T) {
	s := lint.NewStream()
	s.Event(3, []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`))
	s.Event(4, []byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`))
	if e := s.Event(5, []byte(`{"type":`)); e != nil {
		t.Errorf("half an event is %v", e)
	}
	s.Event(6, []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`))
	s.Forget()
	s.Event(9, []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`))
	for i := range 150 {
		s.Event(int64(10+i), fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"x"}`, i))
	}
	list, more := s.Findings(false)
	if len(list) != finding.MaxListed || more < 50 {
		t.Fatalf("%d findings, %d more", len(list), more)
	}
	again := slices.ContainsFunc(list, func(f finding.Finding) bool { return strings.Contains(f.Message, "earlier run") })
	for _, f := range list {
		if f.EventIndex == nil || *f.EventIndex < 9 {
			t.Errorf("%v is about an earlier event", f)
		}
	}
	if !again {
		t.Errorf("the id of the earlier run is forgotten: %v", list[:3])
	}
}

// What is open at the end is a finding only if the stream has ended.
func TestStreamEnds(t *testing.T) {
	for ended, want := range map[bool]int{false: 0, true: 1} {
		s := lint.NewStream()
		s.Event(1, []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`))
		s.Event(2, []byte(`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`))
		if list, _ := s.Findings(ended); len(list) < want || want == 0 && len(list) > 0 {
			t.Errorf("ended %t: %v", ended, list)
		}
	}
}
