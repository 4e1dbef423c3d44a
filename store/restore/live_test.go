package restore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// entriesIn returns the entries of a thread in memory after a position, with their positions
// and runs.
func entriesIn(t fataler, entries []store.Entry) (list []*store.Entry) {
	t.Helper()
	log := memory.New()
	if _, err := log.Append(context.Background(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	for e, err := range log.Read(context.Background(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		copied := *e
		copied.Data = bytes.Clone(e.Data)
		list = append(list, &copied)
	}
	return list
}

// prelude returns the prelude of a run.
func prelude(t fataler, l *restore.Live) (list []string) {
	t.Helper()
	events, err := l.Prelude()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		list = append(list, string(e))
	}
	return list
}

// TestLive joins generated runs, which others interleave and branches continue. A client
// that joins ends as one that restores the run at its end.
func TestLive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generate(shape{
			runs:   rapid.IntRange(1, 8).Draw(t, "runs"),
			inputs: rapid.SampledFrom([]string{"none", "full", "mixed"}).Draw(t, "inputs"),
			open:   rapid.IntRange(1, 3).Draw(t, "open"),
		}, rapid.Uint64().Draw(t, "seed"))
		all := entriesIn(t, g.entries)
		cut := rapid.IntRange(1, len(all)).Draw(t, "cut")
		o := restore.Options{Dialect: reduce.Client}
		whole, th := open(t, g.entries, o), open(t, g.entries[:cut], o)
		for i, n := range th.Graph.Nodes {
			l, err := th.Live(context.Background(), n)
			if err != nil {
				t.Fatal(err)
			}
			joined := reduce.New(reduce.Options{Dialect: reduce.Client})
			for _, e := range prelude(t, l) {
				apply(joined, e)
			}
			for _, e := range all {
				if e.Run == n.Position && e.Position > int64(cut) && (e.Kind == store.Event || e.Kind == store.Closing) {
					apply(joined, string(e.Data))
				}
				l.Entry(e)
			}
			want, err := whole.Run(context.Background(), whole.Graph.Nodes[i])
			if err != nil {
				t.Fatal(err)
			}
			rejoined := reduce.New(reduce.Options{Dialect: reduce.Client})
			for _, e := range prelude(t, l) {
				apply(rejoined, e)
			}
			for what, r := range map[string]*reduce.Reducer{"joined": joined, "joined at the end": rejoined} {
				if got := string(r.AppendMessages(nil)); got != string(want.Messages) {
					t.Fatalf("run %d, cut %d, %s: messages\n%s", i, cut, what, cmp.Diff(strings.Split(string(want.Messages), `},{`), strings.Split(got, `},{`)))
				}
				if got := string(r.AppendState(nil)); got != string(want.State) {
					t.Fatalf("run %d, cut %d, %s: state %s, want %s", i, cut, what, got, want.State)
				}
			}
		}
	})
}

// TestLiveEntries checks which entries count, and what is known of the run.
func TestLiveEntries(t *testing.T) {
	all := script(`
		a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
		a RUN_STARTED{"threadId":"t","runId":"r1"}
		a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
		b input {"messages":[{"id":"u9","role":"user","content":"else"}]}
		b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"r1"}
		a TEXT_MESSAGE_CHUNK{"delta":" two"}
		b TEXT_MESSAGE_CHUNK{"messageId":"m9","delta":"no"}
		a closing RUN_ERROR{"message":"no owner"}
		a end error`)
	th := open(t, all[:3], restore.Options{Dialect: reduce.Client})
	l, err := th.Live(t.Context(), th.Graph.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	if l.Node() != th.Graph.Nodes[0] || l.Position() != 3 || l.Ended() {
		t.Fatalf("run %v, position %d, ended %v", l.Node(), l.Position(), l.Ended())
	}
	messages := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"%s"}]}`
	want := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r1"}`, fmt.Sprintf(messages, "one"),
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant"}`,
	}
	if diff := cmp.Diff(want, prelude(t, l)); diff != "" {
		t.Errorf("after 3 entries: (-want +got)\n%s", diff)
	}
	for _, e := range entriesIn(t, all) {
		if found := l.Entry(e); found != nil {
			t.Errorf("position %d: %v", e.Position, found)
		}
	}
	want = []string{want[0], fmt.Sprintf(messages, "one two"), `{"type":"RUN_ERROR","message":"no owner"}`}
	if diff := cmp.Diff(want, prelude(t, l)); diff != "" {
		t.Errorf("at the end: (-want +got)\n%s", diff)
	}
	if l.Position() != 8 || !l.Ended() {
		t.Errorf("position %d, ended %v", l.Position(), l.Ended())
	}
}

// TestLiveFindings checks that warnings are about one entry, and name its position.
func TestLiveFindings(t *testing.T) {
	all := script(`
		a RUN_STARTED{"threadId":"t","runId":"r1"}
		a TEXT_MESSAGE_CONTENT{"messageId":"gone","delta":"x"}
		a [1]
		a TEXT_MESSAGE_CONTENT{"messageId":"gone","delta":"x"}
		a STEP_STARTED{"stepName":"s"}`)
	th := open(t, all[:1], restore.Options{})
	l, err := th.Live(t.Context(), th.Graph.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entriesIn(t, all) {
		for _, f := range l.Entry(e) {
			got = append(got, fmt.Sprintf("%s %s", f.Code, f.Message[:len("position 2")]))
		}
	}
	if diff := cmp.Diff([]string{"message_unknown position 2", "event_not_object position 3", "message_unknown position 4"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r1"}`, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
		`{"type":"STEP_STARTED","stepName":"s"}`,
	}, prelude(t, l)); diff != "" {
		t.Error(diff)
	}
}

// TestLiveLimits checks that there is no prelude past a limit.
func TestLiveLimits(t *testing.T) {
	t.Parallel()
	all := script(`a RUN_STARTED{"threadId":"t","runId":"r1"}`)
	text := strings.Repeat("x", 1<<20)
	for range reduce.MaxBytes>>20 + 1 {
		all = append(all, script(`a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"`+text+`"}`)...)
	}
	th := open(t, all, restore.Options{})
	l, err := th.Live(t.Context(), th.Graph.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Prelude(); !errors.Is(err, restore.ErrTooLarge) {
		t.Errorf("a large message: %v", err)
	}
}
