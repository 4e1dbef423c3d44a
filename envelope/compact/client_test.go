//go:build client

package compact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
)

// seed makes the generated streams the same in every run.
const seed = 20261122

// versions are the releases of the client that the modes follow.
var versions = map[Mode]string{ModeClient: "1.0.0", ModeStream: "0.0.52"}

// generated returns stream number n: valid ones, ones with breaches of the sequence
// rules, and ones with values of odd types, in turn.
func generated(n int) []string {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	g := judge.Generator{}
	if n%2 == 1 {
		g.With = judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations
	}
	events := judge.Generate(r, g)
	if n%3 > 0 {
		events = judge.Damage(r, events)
	}
	if n%3 > 1 && len(events) > 0 {
		distort(r, events)
	}
	return events
}

// distort replaces values of keys that compaction uses.
func distort(r *rand.Rand, events []string) {
	values := []string{
		`null`, `true`, `0`, `-0.0`, `1e21`, `1.50`, `123456789012345678901`, `5e-7`, `{}`, `{"a":1}`, `{"b":[2],"a":null}`,
		`[]`, `[1,[2,[]],null,{"a":1},"x"]`, `""`, `"m1"`, `"\u006d1"`, `"\ud83d"`, `"\ude00 \ud83d\ude00\ud83d"`,
	}
	for range 1 + r.IntN(12) {
		i := r.IntN(len(events))
		e, err := envelope.ReadEvent([]byte(events[i]))
		if err != nil {
			panic(err)
		}
		key := []string{"messageId", "toolCallId", "delta", "metadata", "snapshot"}[r.IntN(5)]
		var b strings.Builder
		b.WriteString("{")
		for m := range e.All {
			if name, _ := m.Name.Text(); name != key {
				b.WriteString(string(m.Name.Raw) + ":" + string(m.Value.Raw) + ",")
			}
		}
		if r.IntN(4) > 0 {
			b.WriteString(`"` + key + `":` + values[r.IntN(len(values))] + ",")
		}
		events[i] = strings.TrimSuffix(b.String(), ",") + "}"
	}
}

// Every generated stream has the same result as compactEvents of the client, which gets the
// events as the client passes them on.
func TestClientCompactEvents(t *testing.T) {
	j := judge.Start(t)
	changed, circular := map[Mode]int{}, 0
	for n := range judge.Streams(2000) {
		events := generated(n)
		for mode, version := range versions {
			want, err := j.Compact(version, judge.WithoutUnknownOperations(events))
			if err != nil && strings.Contains(err.Error(), "circular structure") {
				// A patch moved the state into itself: there is no JSON of the result.
				run(t, mode, events...)
				circular++
				continue
			}
			if err != nil {
				t.Fatalf("stream %d, version %s: %v\n%s", n, version, err, strings.Join(events, "\n"))
			}
			got := run(t, mode, events...)
			if !equal(judge.WithoutUnknownOperations(got), want) {
				t.Fatalf("stream %d, mode %s:\n%s\nbecame\n%s\nwant\n%s", n, mode, strings.Join(events, "\n"), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if len(got) < len(events) {
				changed[mode]++
			}
		}
	}
	if circular > judge.Streams(2000)/100 {
		t.Errorf("%d streams have no result", circular)
	}
	for mode := range versions {
		if changed[mode] < judge.Streams(2000)/10 {
			t.Errorf("mode %s: only %d streams became shorter", mode, changed[mode])
		}
	}
}

// The expectations of testdata/cases.json are those of the client.
func TestClientCases(t *testing.T) {
	j := judge.Start(t)
	for _, c := range testCases(t) {
		for version, want := range map[string][]string{"1.0.0": texts(c.Client), "0.0.52": texts(c.Stream)} {
			if got, err := j.Compact(version, texts(c.Input)); err != nil || !equal(got, want) {
				t.Errorf("%s, version %s: %s %v", c.Name, version, got, err)
			}
		}
	}
}
