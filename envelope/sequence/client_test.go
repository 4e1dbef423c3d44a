//go:build client

package sequence_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// seed is the seed of the generated streams.
const seed = 17

// first returns the index of the first event of a stream that breaks a rule that the client
// of the protocol enforces, or -1.
func first(t testing.TB, p event.Protocol, events []string) (index int, text string) {
	t.Helper()
	for _, f := range check(t, p, events...) {
		source, ok := finding.SourceOf(f.Rule)
		switch {
		case !ok && f.Code != finding.ProtocolNewer:
			t.Errorf("a finding has no rule: %v", f)
		case source.Enforced(p.Client()):
			return *f.EventIndex, f.Rule + " " + f.Error()
		}
	}
	return -1, ""
}

// known returns the events that the client's verifier sees: it drops those of other types
// before, and 1.0.0 converts THINKING events.
func known(t testing.TB, p event.Protocol, events []string) (list []string) {
	t.Helper()
	for i, text := range events {
		if e := read(t, i, text); eventnames.IsReleased(e.Type) && (p == event.V0 || !strings.HasPrefix(e.Type, "THINKING_")) {
			list = append(list, text)
		}
	}
	return list
}

// The first breach of a stream is at the event that the client refuses.
func TestClientFirstBreach(t *testing.T) {
	j := judge.Start(t)
	firstBreach(t, event.V1, judge.Generator{With: judge.UnknownTypes}, j.Verify)
}

// The same is true of the last client of AG-UI 0.x.
func TestClientFirstBreachOfLast(t *testing.T) {
	j := judge.Start(t)
	firstBreach(t, event.V0, judge.Generator{With: judge.UnknownTypes | judge.Legacy}, j.VerifyLast)
}

func firstBreach(t *testing.T, p event.Protocol, g judge.Generator, verify func([]string) (int, string)) {
	t.Helper()
	refused := 0
	n := judge.Streams(5000)
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		events := judge.Generate(r, g)
		if i%5 > 0 {
			events = judge.Damage(r, events)
		}
		events = known(t, p, events)
		want, why := verify(events)
		got, rule := first(t, p, events)
		if got != want {
			t.Fatalf("stream %d: the first breach is at %d, %q; the client's at %d, %q\n%s", i, got, rule, want, why, strings.Join(events, "\n"))
		}
		if want >= 0 {
			refused++
		}
	}
	if refused < n/4 || refused > n*19/20 {
		t.Errorf("%d of %d streams were refused", refused, n)
	}
	t.Logf("%d streams, %d of them refused", n, refused)
}

// refused returns the index of the event that the client of a protocol refuses, or -1.
func (v vector) refused(t testing.TB, p event.Protocol) (index int) {
	t.Helper()
	want := v.want(p, true)
	if len(want) == 0 {
		return -1
	}
	if _, err := fmt.Sscanf(want[0], "%d", &index); err != nil {
		t.Fatal(err)
	}
	return index
}

// The last client of AG-UI 0.x agrees with the vectors of 0.x.
func TestClientVectorsOfLast(t *testing.T) {
	j := judge.Start(t)
	n := 0
	for _, v := range vectors(t) {
		if !slices.Contains(v.Protocols, event.V0) || v.File == "form" {
			continue
		}
		n++
		want := v.refused(t, event.V0)
		if got, text := j.VerifyLast(v.events()); got != want {
			t.Errorf("%s/%s: the client refuses event %d, %q, not %d", v.File, v.Name, got, text, want)
		}
	}
	if n < 100 {
		t.Errorf("only %d vectors", n)
	}
}

// The client agrees with the vectors of AG-UI 1.0.
func TestClientVectors(t *testing.T) {
	j := judge.Start(t)
	n := 0
	for _, v := range vectors(t) {
		if !slices.Contains(v.Protocols, event.V1) || v.File == "form" { // the client refuses those because of their form
			continue
		}
		n++
		want := v.refused(t, event.V1)
		// Pipeline also converts THINKING events and checks the form of events, which
		// refuses some vectors earlier.
		judged, with := j.Verify, "Verify"
		if strings.Contains(fmt.Sprint(v.events()), "THINKING_") || strings.Contains(fmt.Sprint(v.events()), "META") {
			judged, with = j.Pipeline, "Pipeline"
		}
		if got, text := judged(v.events()); got != want {
			t.Errorf("%s/%s: %s refuses event %d, %q, not %d", v.File, v.Name, with, got, text, want)
		}
	}
	if n < 150 {
		t.Errorf("only %d vectors", n)
	}
}

// Exactly the clients that the source of a rule names refuse streams that break only that
// rule.
func TestClientSources(t *testing.T) {
	j := judge.Start(t)
	for client, verify := range map[string]func([]string) (int, string){"0.0.52": j.VerifyEarlier, "0.0.59": j.VerifyLast, "1.0.0": j.Verify} {
		refused := map[string]bool{}
		for _, v := range vectors(t) {
			text := strings.Join(v.events(), "\n")
			source, ok := finding.SourceOf(v.File)
			if !ok || slices.ContainsFunc(v.Breaches, func(b breach) bool { return b.Rule != v.File }) || len(v.Breaches) == 0 {
				continue
			}
			// Clients of 0.x have rules of their own for THINKING events, and 1.0.0 verifies
			// them only after it has converted them. Up to 0.0.58 no run may follow RUN_ERROR.
			if strings.Contains(text, "THINKING_") && !slices.Contains(source.Versions, string(event.V0)) || client == "0.0.52" && strings.Contains(text, "RUN_ERROR") && strings.Count(text, "RUN_STARTED") > 0 {
				continue
			}
			if index, why := verify(v.events()); index >= 0 {
				refused[v.File] = true
				if !source.Enforced(client) {
					t.Errorf("%s/%s: %s refuses event %d: %s", v.File, v.Name, client, index, why)
				}
			}
		}
		for _, r := range finding.SequenceRules() {
			if source, _ := finding.SourceOf(r.ID); source.Enforced(client) && !refused[r.ID] {
				t.Errorf("%s does not refuse a stream that breaks %s", client, r.ID)
			}
		}
	}
}
