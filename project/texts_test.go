package project

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
)

// TestSums checks that a sum depends on the text without white space and on nothing else.
func TestSums(t *testing.T) {
	s := newSummer()
	text := rapid.Custom(func(t *rapid.T) string {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"", "a", "b", "word", "\x00", " ", "\n", "\x1c", "\u0085", "\u00a0", "\u00a9", "\u1680", "\u1681", "\u2003", "\u2014", "\u2028", "\u3000", "\u3001", "\U0001f600", "\xed\xa0\xbd",
			strings.Repeat("long text of many words ", 60),
		}), 0, 12).Draw(t, "pieces")
		return strings.Join(pieces, "")
	})
	sum := func(pieces ...string) (sum textSum) {
		for _, piece := range pieces {
			s.addText(&sum, []byte(piece))
		}
		return sum
	}
	dense := func(text string) string { return strings.Join(strings.FieldsFunc(text, artifact.IsSpace), "") }
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got, want := sum(a, b), sum(dense(a+b)); got != want || got.bytes != len(dense(a+b)) {
			t.Fatalf("the sum of %q and %q is %v, want %v", a, b, got, want)
		}
		if got, want := s.join(sum(a), sum(b)), sum(a+b); got != want {
			t.Fatalf("the sums of %q and %q join to %v, want %v", a, b, got, want)
		}
		if (sum(a) == sum(b)) != (dense(a) == dense(b)) {
			t.Fatalf("%q has the sum %v, %q has %v", a, sum(a), b, sum(b))
		}
	})
}

// TestByteKinds compares the table with the definition of white space.
func TestByteKinds(t *testing.T) {
	var want [256]byteKind
	for r := range rune(utf8.MaxRune) {
		switch {
		case !artifact.IsSpace(r):
		case r < utf8.RuneSelf:
			want[r] = spaceByte
		default:
			want[string(r)[0]] = leadByte
		}
	}
	if want != byteKinds {
		t.Errorf("got %v, want %v", byteKinds, want)
	}
}

// projectRun projects a run. If keep is true, the projections share a collector that keeps
// texts. Otherwise each has its own, which keeps them only up to the limit.
func projectRun(t interface{ Fatal(...any) }, keep bool, limit int, events []string) map[Name]string {
	var all []Settings
	for _, name := range Names() {
		s := Settings{Projection: name, Operator: OperatorTimes{StartedAt: "2026-01-31T12:00:00Z"}}
		if err := s.Normalize(); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	var collectors []*Collector
	if keep {
		c := NewCollector(all...)
		c.KeepTexts()
		collectors = slices.Repeat([]*Collector{c}, len(all))
	} else {
		for _, s := range all {
			c := NewCollector(s)
			c.fold.limit, c.fold.most = limit, limit
			collectors = append(collectors, c)
		}
	}
	got := make(map[Name]string)
	v := &runVisitor{collectors: slices.Compact(slices.Clone(collectors)), end: func(run *envelope.Run) {
		for i, s := range all {
			out, findings := collectors[i].Project(run, nil, s)
			if out == nil {
				out = new(Output)
			}
			data, err := json.Marshal([]any{findings, string(out.Bytes), out.Omissions})
			if err != nil {
				t.Fatal(err)
			}
			got[s.Projection] = string(data)
		}
	}}
	splitter := capture.NewSplitter(strings.NewReader(strings.Join(events, "\n")), capture.NDJSON)
	if _, err := envelope.Scan(splitter, v); err != nil {
		t.Fatal(err)
	}
	return got
}

type runVisitor struct {
	collectors []*Collector
	end        func(*envelope.Run)
}

func (v *runVisitor) Event(_ *envelope.Run, e *envelope.Event) {
	for _, c := range v.collectors {
		c.Observe(e)
	}
}

func (v *runVisitor) End(run *envelope.Run) error { v.end(run); return nil }

// TestSummedTexts checks that a snapshot is compared with texts that are not kept as with
// texts that are.
func TestSummedTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{"m1", "m2", "m3"}
		deltas := []string{"a", "b c", " ", `\n`, "é", `\ud83d`, `\ude00`, strings.Repeat("many words ", 500)}
		events := []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`}
		texts := make(map[string]string)
		for _, id := range ids {
			role := rapid.SampledFrom([]string{"assistant", "user", "other"}).Draw(t, "role")
			events = append(events, `{"type":"TEXT_MESSAGE_START","messageId":"`+id+`","role":"`+role+`"}`)
		}
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			id, delta := rapid.SampledFrom(ids).Draw(t, "id"), rapid.SampledFrom(deltas).Draw(t, "delta")
			texts[id] += delta
			events = append(events, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"`+id+`","delta":"`+delta+`"}`)
		}
		var messages []string
		for i := range rapid.IntRange(0, 4).Draw(t, "messages") {
			text := texts[rapid.SampledFrom(ids).Draw(t, "of")]
			for range rapid.IntRange(0, 2).Draw(t, "joined") {
				text += texts[rapid.SampledFrom(ids).Draw(t, "of")]
			}
			role := rapid.SampledFrom([]string{"assistant", "user"}).Draw(t, "role")
			messages = append(messages, fmt.Sprintf(`{"id":"s%d","role":%q,"content":"%s"}`, i, role, text))
		}
		messages = append(messages, `{"id":"last","role":"user","content":"x"}`)
		events = append(events, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(messages, ",")+`]}`, `{"type":"RUN_FINISHED"}`)
		limit := rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "limit")
		if diff := cmp.Diff(projectRun(t, true, limit, events), projectRun(t, false, limit, events)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestTooLargeTexts checks that texts that are larger than an artifact are refused in the
// same way whether they are kept or not.
func TestTooLargeTexts(t *testing.T) {
	large := strings.Repeat("many words ", 5<<20/11)
	blank := strings.Repeat(" ", 5<<20)
	for name, texts := range map[string][]string{
		"too large":      {large, large, "small"},
		"blank":          {large, blank, "small"},
		"blank at first": {blank, "small", large, large},
		"half of a pair": {large + `\ud83d`, large},
		"past the limit": {large, large, large, large, large, large, large, large, large, large, "last"},
	} {
		events := []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`}
		for i, text := range texts {
			for len(text) > 0 {
				n := min(len(text), 1<<20)
				events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m%d","delta":"%s"}`, i, text[:n]))
				text = text[n:]
			}
		}
		events = append(events, `{"type":"RUN_FINISHED"}`)
		kept, summed := projectRun(t, true, artifact.MaxFileBytes, events), projectRun(t, false, artifact.MaxFileBytes, events)
		if diff := cmp.Diff(kept, summed); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
