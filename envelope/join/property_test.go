package join_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/join"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/eventnames"
)

// A server is what is known of a stream: it writes preludes.
type server struct {
	run     *join.Run
	reducer *reduce.Reducer
}

func newServer() *server {
	return &server{join.New(), reduce.New(reduce.Options{Dialect: reduce.Client})}
}

// take takes an event.
func (s *server) take(t testing.TB, text string) {
	t.Helper()
	e := read(t, text)
	s.run.Event(e)
	s.reducer.Event(e)
}

// prelude returns the prelude of a client that joins now.
func (s *server) prelude(t testing.TB) (list []string) {
	t.Helper()
	events, err := s.run.Prelude(s.reducer)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if strings.ContainsAny(string(e), "\r\n") {
			t.Fatalf("not on one line: %q", e)
		}
		list = append(list, string(e))
	}
	return list
}

// thinkingMoves reports whether messages follow the one that THINKING events have open, which
// is the last one of a client that joins.
func (s *server) thinkingMoves(t testing.TB) bool {
	t.Helper()
	ids, open := ids(t, s.reducer), s.reducer.Changes().Message
	return slices.Contains(ids, open) && ids[len(ids)-1] != open
}

// ids returns the ids of messages.
func ids(t testing.TB, r *reduce.Reducer) (list []string) {
	t.Helper()
	var messages []struct{ ID string }
	if err := json.Unmarshal(r.AppendMessages(nil), &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		list = append(list, m.ID)
	}
	return list
}

func read(t testing.TB, text string) *envelope.Event {
	t.Helper()
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e
}

// client returns the messages, the state and the interrupts of a client that begins with
// messages and a state, and gets events.
func client(t testing.TB, from *reduce.Reducer, events []string) []string {
	t.Helper()
	r := reduce.New(reduce.Options{Dialect: reduce.Client})
	if from != nil {
		if err := r.Restore(from.AppendMessages(nil), from.AppendState(nil)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range events {
		r.Event(read(t, text))
	}
	return ends(t, r)
}

func ends(t testing.TB, r *reduce.Reducer) []string {
	t.Helper()
	return []string{thinkingIDs(t, string(r.AppendMessages(nil))), string(r.AppendState(nil)), string(r.AppendInterrupts(nil))}
}

// thinkingIDs replaces the ids of messages of THINKING events by their order.
func thinkingIDs(t testing.TB, messages string) string {
	t.Helper()
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(messages), &list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range list {
		if strings.HasPrefix(m.ID, "thinking-") {
			n++
			messages = strings.Replace(messages, `"`+m.ID+`"`, fmt.Sprintf(`"thinking %d"`, n), 1)
		}
	}
	return messages
}

// breaches returns the first breach of a stream, or "".
func breaches(t testing.TB, events []string) string {
	t.Helper()
	c := sequence.New(sequence.Options{Client: true})
	for i, text := range events {
		e := read(t, text)
		e.Index = i
		for _, f := range c.Event(e) {
			return fmt.Sprint(f)
		}
	}
	return ""
}

// checkCut checks a client that joins after a number of events, and one that saw the first
// events before.
func checkCut(t testing.TB, s *server, seen *reduce.Reducer, tail, want []string) string {
	t.Helper()
	prelude := s.prelude(t)
	if prelude == nil || s.reducer.Changes().Repeated {
		return "" // there is no run, or a limit of the package
	}
	all := slices.Concat(prelude, tail)
	if f := breaches(t, all); f != "" {
		return "refused: " + f + "\nprelude\n" + strings.Join(prelude, "\n")
	}
	if s.thinkingMoves(t) {
		return "" // a limit of the package
	}
	for i, from := range []*reduce.Reducer{nil, seen} {
		got := client(t, from, all)
		if read(t, all[len(all)-1]).Type != eventnames.RunFinished {
			got = got[:2] // interrupts of an earlier run are not known
		}
		for k := range got {
			if !judge.Equal(got[k], want[k]) {
				return fmt.Sprintf("client %d:\n%s\nwant\n%s\nprelude\n%s", i, got[k], want[k], strings.Join(prelude, "\n"))
			}
		}
	}
	return ""
}

// TestCuts joins generated streams after each event.
func TestCuts(t *testing.T) {
	for name, g := range map[string]judge.Generator{
		"runs":      {Without: judge.Subagents | judge.Collisions},
		"subagents": {Without: judge.OtherOwners | judge.Collisions},
		"thinking":  {Without: judge.Subagents | judge.Collisions | judge.Snapshots, With: judge.Legacy | judge.UnknownTypes | judge.ExtraKeys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
				events := judge.Generate(r, g)
				whole := reduce.New(reduce.Options{Dialect: reduce.Client})
				for _, e := range events {
					whole.Event(read(t, e))
				}
				want := ends(t, whole)
				s, seen := newServer(), newServer()
				old := 0
				for cut := 1; cut <= len(events); cut++ {
					s.take(t, events[cut-1])
					for old < cut && r.IntN(2) == 0 {
						seen.take(t, events[old])
						old++
					}
					if r.IntN(5) > 0 {
						continue
					}
					if problem := checkCut(t, s, seen.reducer, events[cut:], want); problem != "" {
						rt.Fatalf("cut %d, seen %d: %s\nevents\n%s", cut, old, problem, strings.Join(events, "\n"))
					}
				}
			})
		})
	}
}
