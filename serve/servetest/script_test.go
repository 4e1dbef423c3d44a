package servetest

import (
	"math/rand/v2"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/join"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/eventnames"
)

// TestScriptsCanBeJoined joins the runs of scripts after many of their events. A trial may fail
// only if the server is wrong, so no script may be one of those that package join has limits for.
func TestScriptsCanBeJoined(t *testing.T) {
	t.Parallel()
	// With these seeds, scripts had calls of other subagents than their messages, and two messages
	// with the same id.
	const first, last = 17134470452857314059, 17134470452857314455
	seeds := []uint64{last}
	for n := range uint64(100) {
		seeds = append(seeds, first+n)
	}
	for _, seed := range seeds {
		var events []*envelope.Event
		for _, s := range newTrial(Settings{Seed: seed}).scripts {
			for _, text := range s.events[:s.whole] {
				events = append(events, read(t, text))
			}
		}
		r := rand.New(rand.NewPCG(seed, 0))
		run, reducer := join.New(), reduce.New(reduce.Options{Dialect: reduce.Client})
		for i, e := range events {
			run.Event(e)
			reducer.Event(e)
			if r.IntN(4) > 0 {
				continue
			}
			prelude, err := run.Prelude(reducer)
			if err != nil {
				t.Fatal(err)
			}
			var got []*envelope.Event
			for _, text := range prelude {
				got = append(got, read(t, string(text)))
			}
			for _, e := range events[i+1:] {
				if e.Type == eventnames.RunStarted {
					break
				}
				got = append(got, e)
			}
			checker := sequence.New(sequence.Options{Client: true})
			for _, e := range got {
				if found := checker.Event(e); len(found) > 0 {
					t.Fatalf("seed %d: after event %d, a client refuses %.300q: %s", seed, i+1, e.Data, found[0])
				}
			}
		}
	}
}

func read(t *testing.T, text string) *envelope.Event {
	t.Helper()
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e
}
