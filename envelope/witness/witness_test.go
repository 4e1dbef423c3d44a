//go:build witness

package witness_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/witness"
)

// specified are the versions that have a specification.
var specified = []event.Protocol{event.V1, event.V1Minor1, event.Draft}

// Packages event and sequence reject the event that the witness rejects, and remove what
// it removes, except where docs/peers.md says that the specification leaves a choice.
func TestWitnessStreams(t *testing.T) {
	for _, p := range specified {
		t.Run(string(p), func(t *testing.T) { compare(t, p) })
	}
}

func compare(t *testing.T, p event.Protocol) {
	w := witness.Start(t)
	n, rejected, removed, wrong, strict := judge.Streams(20000), 0, 0, 0, 0
	choices := map[string]int{}
	for i := range n {
		events := stream(uint64(i))
		row, got := w.Judge(p, events), ours(t, p, events)
		theirs := -1
		if row.Reject != nil {
			theirs = row.Reject.Event
			rejected++
		}
		places := places(row)
		removed += len(places)
		at, same := got.index, got.index == theirs
		if at < 0 || 0 <= theirs && theirs < at {
			at = theirs
		}
		missed, invented := duty(row, got.producer)
		strict += missed
		if same && slices.Equal(places, got.removed) && len(invented) == 0 && row.Truncated == (theirs < 0 && got.open) {
			continue
		}
		names := chosen(row, events, at)
		if !same && len(names) > 0 {
			choices[strings.Join(names, ", ")]++
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("stream %d: we reject %d (%s %s), the witness %+v; removed are %q and %q, truncated is %t and %t; of the producer's rules only one finds broken %q\n%s", i,
				got.index, got.rule, got.text, row.Reject, got.removed, places, got.open, row.Truncated, invented, numbered(events))
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d streams differ", wrong, n)
	}
	if rejected < n/4 || rejected > n*19/20 || removed < n/2 {
		t.Errorf("of %d streams %d are rejected, and %d places are removed", n, rejected, removed)
	}
	total := 0
	for _, count := range choices {
		total += count
	}
	if total > n/20 {
		t.Errorf("the specification leaves a choice in %d of %d streams", total, n)
	}
	t.Logf("%d streams, %d of them rejected, %d places removed; %d differ where the specification leaves a choice: %v; the witness is stricter with %d producers", n, rejected, removed, total, choices, strict)
}

// stream returns a generated stream. Most are damaged: the order of events, their form,
// the names of runs and threads, or the ids of interrupts.
func stream(seed uint64) []string {
	r := rand.New(rand.NewPCG(33, seed))
	events := judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.OddPatches})
	for i := range events {
		events[i] = named(r, events[i])
	}
	if seed%5 > 0 {
		events = judge.Damage(r, events)
	}
	if seed%4 == 3 && len(events) > 0 {
		i := r.IntN(len(events))
		events[i] = misshape(r, events[i])
	}
	if seed%3 == 2 {
		rename(r, events)
	}
	return events
}

var (
	identity  = regexp.MustCompile(`^(\{"type":"RUN_(?:STARTED|FINISHED)",)"threadId":"[^"]*","runId":"([^"]*)"`)
	interrupt = regexp.MustCompile(`"interrupts":\[(\{.*?\})\]`)
)

// rename changes the thread or the run of one event, or asks something twice.
func rename(r *rand.Rand, events []string) {
	for _, i := range r.Perm(len(events)) {
		switch e := events[i]; {
		case interrupt.MatchString(e):
			events[i] = interrupt.ReplaceAllString(e, `"interrupts":[$1,$1]`)
			return
		case identity.MatchString(e):
			events[i] = identity.ReplaceAllString(e, []string{`$1"threadId":"u","runId":"$2"`, `$1"threadId":"t","runId":"other"`}[r.IntN(2)])
			return
		}
	}
}

// places returns what the witness removes before the event that it rejects.
func places(row witness.Row) (list []string) {
	for _, s := range row.Stripped {
		if row.Reject == nil || s.Event < row.Reject.Event {
			list = append(list, fmt.Sprintf("%d %s", s.Event, s.At))
		}
	}
	slices.Sort(list)
	return list
}

// duty compares the broken rules that bind only the producer, before the event that the
// witness rejects. It returns those that only one reader finds, and how many only the
// witness finds although it is stricter by choice (docs/peers.md).
func duty(row witness.Row, ours []string) (strict int, differ []string) {
	seen := map[string]bool{}
	for _, rule := range row.Producer {
		at := fmt.Sprintf("%d %s", rule.Event, rule.Code)
		if seen[at] {
			continue
		}
		seen[at] = true
		switch known := isDuty(rule.Code); {
		case !known || row.Reject != nil && rule.Event >= row.Reject.Event:
		case slices.Contains(ours, at):
			ours = slices.DeleteFunc(slices.Clone(ours), func(s string) bool { return s == at })
		case rule.Code == "reopened-otherwise" || rule.Code == "pending":
			strict++
		default:
			differ = append(differ, at)
		}
	}
	return strict, append(differ, ours...)
}

func isDuty(code string) bool {
	for _, d := range duties {
		if d.name == code {
			return true
		}
	}
	return false
}

var emptyType = regexp.MustCompile(`^\{(.*,)?"type":""`)

// chosen returns the names of docs/peers.md for an event of a stream.
func chosen(row witness.Row, events []string, at int) (names []string) {
	for _, q := range row.Open {
		if q.Event == at {
			names = append(names, q.Question)
		}
	}
	if 0 <= at && at < len(events) && emptyType.MatchString(events[at]) {
		names = append(names, "empty-type")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func numbered(events []string) string {
	var b strings.Builder
	for i, e := range events {
		fmt.Fprintf(&b, "%d %s\n", i, e)
	}
	return b.String()
}

// docs/peers.md has a row for each choice that the witness or this test knows.
func TestWitnessTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/peers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n### Where the text leaves a choice\n")
	if !ok {
		t.Fatal("docs/peers.md has no section on where the text leaves a choice")
	}
	program, err := os.ReadFile("questions.py")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"empty-type"}
	for _, m := range regexp.MustCompile(`yield (?:"([a-z-]+)"|source \+ "(-owner)")`).FindAllStringSubmatch(string(program), -1) {
		if m[2] != "" {
			want = append(want, "input-owner", "snapshot-owner", "result-owner")
			continue
		}
		want = append(want, m[1])
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(section, -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("docs/peers.md lists %q, not %q", got, want)
	}
}
