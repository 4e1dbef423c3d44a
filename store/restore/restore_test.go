package restore_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

func TestParseInput(t *testing.T) {
	for _, name := range restore.Inputs() {
		if in, err := restore.ParseInput(name); err != nil || string(in) != name {
			t.Errorf("%s: %s, %v", name, in, err)
		}
	}
	if _, err := restore.ParseInput("some"); err == nil || err.Error() != "the inputs are auto, full, normalized" {
		t.Error(err)
	}
}

// TestEnds checks that this package and package store use the same words.
func TestEnds(t *testing.T) {
	for _, end := range []store.RunEnd{store.Open, store.Finished, store.Interrupted, store.Cancelled, store.Failed, store.Cut} {
		known := []lineage.End{lineage.Open, lineage.Finished, lineage.Interrupted, lineage.Cancelled, lineage.Failed, lineage.Cut}
		found := false
		for _, k := range known {
			found = found || k == restore.Lineage(&store.Run{End: end}).End
		}
		if !found {
			t.Errorf("the end %s is not an end of package lineage", end)
		}
	}
}

func TestErrors(t *testing.T) {
	ctx := t.Context()
	log := memory.New()
	if _, err := restore.Open(ctx, log, key, restore.Options{}); !errors.Is(err, store.ErrNoThread) {
		t.Errorf("no thread: %v", err)
	}
	if _, err := log.Append(ctx, key, 0, script(`a RUN_STARTED{"threadId":"t","runId":"r1"}`)); err != nil {
		t.Fatal(err)
	}
	th := reopen(t, log, restore.Options{})
	for _, position := range []int64{-1, 0, 2} {
		_, err := th.At(ctx, position)
		if want := fmt.Sprintf("the thread has no such position: %d; the positions are 1 to 1", position); !errors.Is(err, restore.ErrPosition) || err.Error() != want {
			t.Errorf("position %d: %v", position, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := th.Run(cancelled, th.Graph.Nodes[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := log.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	if _, err := th.At(ctx, 1); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("deleted since: %v", err)
	}
	if _, err := restore.Open(ctx, log, key, restore.Options{}); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("deleted: %v", err)
	}
}

// counted counts what is read from a log, which can lack entries.
type counted struct {
	store.Log
	reads, entries int
	lacks          int64
}

func (l *counted) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	if len(s.Types) > 0 { // it is small
		return l.Log.Select(ctx, key, s)
	}
	l.reads++
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Select(ctx, key, s) {
			l.entries++
			if l.lacks > 0 && e.Position >= l.lacks || !yield(e, err) {
				return
			}
		}
	}
}

// TestReads checks that only the runs that are needed are read.
func TestReads(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		input := `"messages":[]`
		if i == 200 {
			input = `"messages":[{"id":"u","role":"user","content":"hi"}]`
		}
		if i%100 == 0 {
			fmt.Fprintf(&text, "s%d input {%s}\n", i, input)
		}
		fmt.Fprintf(&text, "s%d RUN_STARTED{\"threadId\":\"t\",\"runId\":\"r%d\"}\n", i, i)
		fmt.Fprintf(&text, "s%d RUN_FINISHED{\"threadId\":\"t\",\"runId\":\"r%d\"}\n", i, i)
	}
	log := &counted{Log: memory.New()}
	if _, err := log.Append(t.Context(), key, 0, script(text.String())); err != nil {
		t.Fatal(err)
	}
	th := reopen(t, log, restore.Options{})
	for _, test := range []struct{ run, used, reads, entries int }{
		{50, 51, 2, 103},             // the root is the first run: its request, and all events
		{150, 51, 6, 2 + 103 + 201},  // one entry to look at the request, that of the first run, and the runs before it to compare
		{250, 51, 7, 3 + 103 + 201},  // the runs before the request of 100 are not read
		{299, 100, 7, 3 + 201 + 201}, // likewise
	} {
		log.reads, log.entries = 0, 0
		r, err := th.Run(t.Context(), th.Graph.Nodes[test.run])
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Used) != test.used || log.reads != test.reads || log.entries != test.entries {
			t.Errorf("run %d: %d runs were used, %d reads, %d entries; want %+v", test.run, len(r.Used), log.reads, log.entries, test)
		}
	}
	kept := &counted{Log: memory.New()}
	if _, err := kept.Append(t.Context(), key, 0, conversation(300, restore.Auto)); err != nil {
		t.Fatal(err)
	}
	th2 := reopen(t, kept, restore.Options{})
	r, err := th2.Run(t.Context(), th2.Graph.Nodes[299])
	if n := strings.Count(string(r.Messages), `"role":"activity"`); err != nil || n != 300 {
		t.Errorf("%d activities, %v", n, err)
	}
	if kept.reads > 7 { // two requests to look at, that of the first run, and the last two runs
		t.Errorf("%d reads to keep activities", kept.reads)
	}
	log.lacks = 90
	_, err = th.Run(t.Context(), th.Graph.Nodes[50])
	if want := `thread "t" has no entry at position 90: the log is damaged`; err == nil || err.Error() != want {
		t.Errorf("a damaged log: %v, want %s", err, want)
	}
}

// TestOpened checks that a thread stays as it was when it was opened, and that restored
// conversations do not change when the log grows.
func TestOpened(t *testing.T) {
	ctx := t.Context()
	log := memory.New()
	add := func(after int64, text string) {
		if _, err := log.Append(ctx, key, after, script(text)); err != nil {
			t.Fatal(err)
		}
	}
	add(0, `a RUN_STARTED{"threadId":"t","runId":"r1"}
		b RUN_STARTED{"threadId":"t","runId":"r2"}`)
	th := reopen(t, log, restore.Options{})
	add(2, `a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
		b TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
		c RUN_STARTED{"threadId":"t","runId":"r3"}`)
	for _, test := range []struct {
		th   *restore.Thread
		want []string
	}{{th, []string{"", ""}}, {reopen(t, log, restore.Options{}), []string{"m1:one", "m2:two", "m2:two"}}} {
		var got []string
		for _, n := range test.th.Graph.Nodes {
			r, err := test.th.Run(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, shown(t, r.Messages))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFindings(t *testing.T) {
	th := open(t, script(`a RUN_STARTED{"threadId":"t","runId":"r1"}
		a TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"x"}
		a nope
		a RUN_FINISHED{"threadId":"t","runId":"r1"}`), restore.Options{})
	r, err := th.Run(t.Context(), th.Graph.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprint(f.Severity, " ", f.Code, " ", f.Message))
	}
	if diff := cmp.Diff([]string{
		`warning message_unknown position 2: TEXT_MESSAGE_CONTENT names message "m1", which does not exist; the event is ignored`,
		`warning json_syntax position 3: null is misspelled`,
	}, got); diff != "" {
		t.Error(diff)
	}
	th = open(t, script(`a RUN_STARTED{"threadId":"t","runId":"r1"}`+strings.Repeat("\na nope", 150)), restore.Options{})
	if r, err = th.Run(t.Context(), th.Graph.Nodes[0]); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Findings); n != finding.MaxListed+1 || r.Findings[n-1].Message != "50 more findings are not listed" {
		t.Errorf("%d findings, the last is %v", n, r.Findings[n-1])
	}
}

func TestDialect(t *testing.T) {
	entries := script(`a RUN_STARTED{"threadId":"t","runId":"r1"}
		a STATE_SNAPSHOT{"snapshot":{"n":1}}
		a STATE_DELTA{"delta":[{"op":"remove","path":""}]}`)
	for dialect, want := range map[reduce.Dialect]string{reduce.RFC6902: `{"n":1}`, reduce.Client: `null`} {
		th := open(t, entries, restore.Options{Dialect: dialect})
		r, err := th.Run(t.Context(), th.Graph.Nodes[0])
		if err != nil || string(r.State) != want {
			t.Errorf("%s: the state is %s, %v", dialect, r.State, err)
		}
	}
}

func TestFork(t *testing.T) {
	th := open(t, script(`
		a input {"threadId":"t","runId":"r1","messages":[{"id":"u1","role":"user","content":"hi"}],"tools":[{"name":"f","description":"d"}]}
		a RUN_STARTED{"threadId":"t","runId":"r1"}
		a STATE_SNAPSHOT{"snapshot":{"n":1}}
		a RUN_FINISHED{"threadId":"t","runId":"r1"}
		b input {"messages":[]}
		b RUN_STARTED{"threadId":"t","runId":"r2"}`), restore.Options{})
	get := func(position int64) *restore.Result {
		r, err := th.At(t.Context(), position)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for form, want := range map[lineage.Form]string{
		lineage.Full:       `{"threadId":"t","runId":"new","parentRunId":"r1","state":{"n":1},"messages":[{"role":"user","id":"u1","content":"hi"}],"tools":[{"name":"f","description":"d"}]}`,
		lineage.Normalized: `{"threadId":"t","runId":"new","parentRunId":"r1","messages":[],"tools":[{"name":"f","description":"d"}]}`,
	} {
		in, err := th.Fork(get(4), "new", form)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(event.AppendRunInput(nil, in))); diff != "" {
			t.Error(diff)
		}
	}
	for _, test := range []struct {
		r    *restore.Result
		want string
	}{
		{get(3), `the run cannot be continued at position 3: parentRunId names a whole run, which ends at position 4`},
		{&restore.Result{}, `the run cannot be continued: there is no run`},
		{get(6), `the run cannot be continued: the request of the run cannot be read: `},
	} {
		if _, err := th.Fork(test.r, "new", lineage.Full); !errors.Is(err, lineage.ErrFork) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}
