package freeze

import (
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
