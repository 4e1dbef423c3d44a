package restore_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// hostile returns entries of any kind and content, in any order.
func hostile(t *rapid.T) (entries []store.Entry) {
	data := []string{
		``, `nope`, `null`, `[]`, `{}`, `{"type":5}`, "\xff", `{"type":"RUN_STARTED"}`, `{"type":"RUN_STARTED","runId":"a"}`,
		`{"type":"RUN_STARTED","runId":"b","parentRunId":"a","input":{"messages":["x",{"id":"m"},{"id":5}]}}`, `{"type":"RUN_STARTED","runId":"a","parentRunId":"b"}`,
		`{"type":"RUN_STARTED","runId":7,"parentRunId":null}`, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}`, `{"type":"RUN_ERROR"}`,
		`{"messages":[{"id":"m","role":"user","content":"x"}],"state":[1]}`, `{"messages":5}`, `{"parentRunId":"a","messages":[{}],"state":{}}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"y"}`, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/0","value":1}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"n","role":"user","content":"z"}]}`, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
	}
	ended := make(map[string]bool)
	for range rapid.IntRange(1, 30).Draw(t, "entries") {
		e := store.Entry{
			Stream: rapid.SampledFrom([]string{"s1", "s2", "s3", "s4"}).Draw(t, "stream"),
			Kind:   rapid.SampledFrom([]store.Kind{store.Event, store.Event, store.Event, store.Input, store.Closing, store.End}).Draw(t, "kind"),
			Data:   []byte(rapid.SampledFrom(data).Draw(t, "data")),
		}
		if ended[e.Stream] {
			continue
		}
		ended[e.Stream] = e.Kind == store.End
		entries = append(entries, e)
	}
	return entries
}

// TestHostile restores threads of any entries as of every position: there is always a
// result, and the same one when the log has grown.
func TestHostile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := hostile(t)
		o := restore.Options{Input: rapid.SampledFrom([]restore.Input{"", restore.Full, restore.Normalized}).Draw(t, "input")}
		all := open(t, entries, o)
		for i := range entries {
			at := int64(i + 1)
			got, err := all.At(context.Background(), at)
			if err != nil {
				t.Fatal(err)
			}
			then := open(t, entries[:i+1], o)
			want, err := then.At(context.Background(), at)
			if err != nil {
				t.Fatal(err)
			}
			if entries[i].Kind == store.Input {
				continue // which run it belongs to is not known yet
			}
			if diff := cmp.Diff(text(want), text(got)); diff != "" {
				t.Fatalf("position %d: then -, now +\n%s", at, diff)
			}
			if n := then.Graph.Nodes; got.Run != nil && got.Run.Position == at {
				run, err := then.Run(context.Background(), n[len(n)-1])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(text(run), text(got)); diff != "" {
					t.Fatalf("run at position %d: Run -, At +\n%s", at, diff)
				}
			}
		}
	})
}

// text returns what was restored.
func text(r *restore.Result) string {
	return fmt.Sprintf("%s\n%s %v\n%s %q\n%s", r.Messages, r.State, r.StateKnown, r.Interrupts, r.PendingToolCalls, r.Input)
}

// failing is a log whose calls can fail.
type failing struct {
	store.Log
	left int // the number of entries and runs until then
}

var errFailed = errors.New("the disk failed")

func (l *failing) Runs(ctx context.Context, q store.RunQuery) iter.Seq2[store.Run, error] {
	return fail(l, l.Log.Runs(ctx, q))
}

func (l *failing) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return fail(l, l.Log.Select(ctx, key, s))
}

func fail[T any](l *failing, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if l.left--; l.left < 0 {
				var none T
				yield(none, errFailed)
				return
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// TestFailures lets each read fail.
func TestFailures(t *testing.T) {
	ctx := t.Context()
	log := &failing{Log: memory.New()}
	if _, err := log.Append(ctx, key, 0, script(`
		a input {"messages":[]}
		a RUN_STARTED{"threadId":"t","runId":"r1"}
		a ACTIVITY_SNAPSHOT{"messageId":"p","activityType":"PLAN","content":{}}
		b input {"messages":[{"id":"u2","role":"user","content":"hi"},{"id":"u3","role":"user","content":"there"},{"id":"u4","role":"user","content":"you"}]}
		b RUN_STARTED{"threadId":"t","runId":"r2"}
		b ACTIVITY_SNAPSHOT{"messageId":"q","activityType":"PLAN","content":{}}
		c input {"messages":[{"id":"u2","role":"user","content":"hi"},{"id":"u3","role":"user","content":"there"},{"id":"u4","role":"user","content":"you"}]}
		c RUN_STARTED{"threadId":"t","runId":"r3"}`)); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for left := 0; ; left++ {
		log.left = left
		th, err := restore.Open(ctx, log, key, restore.Options{})
		if err == nil {
			_, err = th.At(ctx, 8)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errFailed) {
			t.Fatalf("%d: %v", left, err)
		}
		failures++
	}
	// Three runs, the entry, the request, what earlier runs have (the first request, four
	// events, and where the messages of the second request end), the run before it with its
	// request, and the run.
	if failures != 3+1+1+(1+4+1)+(1+3)+2 {
		t.Errorf("%d reads failed", failures)
	}
}

// TestManyOmitted restores a thread with many activities and no message that shows their
// place. That takes long if each one looks at the others, or reads requests again.
func TestManyOmitted(t *testing.T) {
	const runs, each = 100, 1000
	var entries []store.Entry
	request, want := "", []byte("[")
	for i := range runs + 1 {
		stream := fmt.Sprint("s", i)
		user := userMessage(fmt.Sprint("v", i)) + "," + userMessage(fmt.Sprint("u", i))
		request += "," + user
		entries = append(entries,
			store.Entry{Stream: stream, Kind: store.Input, Data: fmt.Appendf(nil, `{"messages":[%s]}`, request[1:])},
			store.Entry{Stream: stream, Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"RUN_STARTED","threadId":"t","runId":"r%d"}`, i)})
		want = append(append(want, user...), ',')
		for k := range each {
			if i < runs {
				entries = append(entries, store.Entry{Stream: stream, Kind: store.Event, Data: fmt.Appendf(nil,
					`{"type":"ACTIVITY_SNAPSHOT","messageId":"a%d-%d","activityType":"PLAN","content":{}}`, i, k)})
				want = fmt.Appendf(want, `{"id":"a%d-%d","role":"activity","activityType":"PLAN","content":{}},`, i, k)
			}
		}
	}
	th := open(t, entries, restore.Options{})
	r, err := th.Run(t.Context(), th.Graph.Nodes[runs])
	if err != nil {
		t.Fatal(err)
	}
	want[len(want)-1] = ']'
	if string(r.Messages) != string(want) {
		t.Errorf("%d bytes of messages, want %d", len(r.Messages), len(want))
	}
}

// TestEarlierLimit checks that only the last runs count if the events of earlier ones are
// large.
func TestEarlierLimit(t *testing.T) {
	entries := script(`
		a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
		a RUN_STARTED{"threadId":"t","runId":"r1"}
		a ACTIVITY_SNAPSHOT{"messageId":"p1","activityType":"PLAN","content":{}}
		b RUN_STARTED{"threadId":"t","runId":"r2"}`)
	text := strings.Repeat("x", 1<<20)
	for range 33 {
		entries = append(entries, script(`b CUSTOM{"name":"`+text+`"}`)...)
	}
	entries = append(entries, script(`
		c input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
		c RUN_STARTED{"threadId":"t","runId":"r3"}
		c ACTIVITY_SNAPSHOT{"messageId":"p3","activityType":"PLAN","content":{}}
		d input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
		d RUN_STARTED{"threadId":"t","runId":"r4"}`)...)
	th := open(t, entries, restore.Options{})
	for i, want := range []string{"u1:hi p1:{}", "u1:hi p1:{}", "u1:hi p3:{}", "u1:hi p3:{}"} {
		r, err := th.Run(t.Context(), th.Graph.Nodes[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, r.Messages); got != want {
			t.Errorf("run %d: %s, want %s", i+1, got, want)
		}
	}
}

// growing is a log to which another process appends while its runs are read.
type growing struct{ store.Log }

func (l *growing) Runs(ctx context.Context, q store.RunQuery) iter.Seq2[store.Run, error] {
	if _, err := l.Append(ctx, key, 1, script(`
		a TEXT_MESSAGE_CHUNK{"messageId":"m","delta":"x"}
		b RUN_STARTED{"threadId":"t","runId":"r2"}`)); err != nil {
		panic(err)
	}
	return l.Log.Runs(ctx, q)
}

// TestGrowing checks that Open takes the runs as of one position.
func TestGrowing(t *testing.T) {
	log := &growing{memory.New()}
	if _, err := log.Append(t.Context(), key, 0, script(`a RUN_STARTED{"threadId":"t","runId":"r1"}`)); err != nil {
		t.Fatal(err)
	}
	th := reopen(t, log, restore.Options{})
	r, err := th.Run(t.Context(), th.Graph.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(th.Graph.Nodes) != 1 || string(r.Messages) != "[]" || r.Position != 1 {
		t.Errorf("%d runs, position %d, messages %s", len(th.Graph.Nodes), r.Position, r.Messages)
	}
}
