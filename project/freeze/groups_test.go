package freeze

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/project"
)

// collect makes groups of 100 captures while another group is committed, and splits the
// runs of a capture.
func TestCollect(t *testing.T) {
	w := &batchWriter{frozen: make(chan *result), full: make(chan *group)}
	go w.collect(t.Context())
	for i := range maxGroupCaptures {
		w.frozen <- &result{rows: []Row{{Verdict: project.Refused, Run: &i}}}
	}
	refused := func() *result { return &result{rows: []Row{{Verdict: project.Refused}}} }
	go func() {
		w.frozen <- refused()
		close(w.frozen)
	}()
	var sizes []int
	for g := range w.full {
		for i, r := range g.done {
			if sizes == nil && *r.rows[0].Run != i {
				t.Errorf("capture %d is number %d", *r.rows[0].Run, i)
			}
		}
		sizes = append(sizes, len(g.done))
	}
	if len(sizes) != 2 || sizes[0] != maxGroupCaptures || sizes[1] != 1 {
		t.Errorf("groups of %d captures", sizes)
	}
}

// Publishing counts the runs of a capture from the first to the last group.
func TestPublishing(t *testing.T) {
	const runs = maxGroupCaptures + 20
	path := filepath.Join(t.TempDir(), "many.ndjson")
	one := `{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":"hi"}]}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}
`
	if err := os.WriteFile(path, []byte(strings.Repeat(one, runs)), 0o666); err != nil {
		t.Fatal(err)
	}
	var calls [][2]int
	s := Settings{Dir: t.TempDir(), Publishing: func(durable, frozen int) { calls = append(calls, [2]int{durable, frozen}) }}
	rows, err := Freeze(t.Context(), path, s)
	if err != nil || len(rows) != runs || rows[runs-1].Verdict != project.Frozen {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if len(calls) < 3 || calls[0] != [2]int{0, runs} || calls[len(calls)-1] != [2]int{runs, runs} {
		t.Errorf("%v", calls)
	}
}
