package compact

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// closed are streams in which every message and tool call ends in its run.
var closed = judge.Generator{Without: judge.OpenEnds | judge.Collisions}

// reduced returns the messages and the state after events.
func reduced(t testing.TB, events []string) (messages, state string) {
	t.Helper()
	return reducedFrom(t, nil, events)
}

// reducedFrom is like reduced for a client that holds a request, unless it is nil.
func reducedFrom(t testing.TB, request []byte, events []string) (messages, state string) {
	t.Helper()
	r := reduce.New(reduce.Options{})
	if request != nil {
		r.Seed(request)
	}
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r.Event(e)
	}
	return string(r.AppendMessages(nil)), string(r.AppendState(nil))
}

// lineages returns, for each run of a stream in one thread, the events of the runs that
// it continues and its own.
func lineages(t testing.TB, events []string) [][]string {
	t.Helper()
	runs := [][]string{nil}           // the first has the events before the first run
	ends := make(map[string][]string) // by the id of the run
	id := ""
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if e.Type == eventnames.RunStarted {
			base := runs[len(runs)-1]
			if parent := e.Text("parentRunId"); parent != "" {
				base = ends[parent]
			}
			runs = append(runs, slices.Clip(base))
			id = e.Text("runId")
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], text)
		ends[id] = runs[last]
	}
	return runs
}

// withoutParents returns events without parentRunId.
func withoutParents(events []string) []string {
	var list []string
	for _, text := range events {
		list = append(list, parentMember.ReplaceAllString(text, ""))
	}
	return list
}

var parentMember = regexp.MustCompile(`,"parentRunId":"[^"]*"`)

// TestSnapshotLaws checks on generated streams that compacting again changes nothing, that
// the result keeps the sequence rules, and that messages and state stay the same: at the
// end of a stream without branches, and at the end of each run of a stream with branches.
// Messages may differ only if two have the same id, or, rarely, in the order of reasoning.
func TestSnapshotLaws(t *testing.T) {
	all := func(events []string) [][]string { return [][]string{events} }
	branches := func(events []string) [][]string { return lineages(t, events) }
	checked, streams := 0, judge.Streams(500)
	for seed := range uint64(streams) {
		events := judge.Generate(rand.New(rand.NewPCG(seed, 1)), closed)
		if checkSnapshot(t, seed, withoutParents(events), all) && checkSnapshot(t, seed, events, branches) {
			checked++
		}
	}
	if checked < streams*9/10 {
		t.Errorf("the messages of only %d streams were compared", checked)
	}
}

func checkSnapshot(t *testing.T, seed uint64, events []string, split func(events []string) [][]string) (compared bool) {
	t.Helper()
	got, _, err := snapshot(t, defaultLimits, events)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	again, _, err := snapshot(t, defaultLimits, got)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Fatalf("seed %d: compacting again changes the stream: first -, then +:\n%s\nfrom\n%s", seed, diff, strings.Join(events, "\n"))
	}
	if found := breaches(t, got); len(found) > 0 {
		t.Fatalf("seed %d: %v\n%s\nfrom\n%s", seed, found, strings.Join(got, "\n"), strings.Join(events, "\n"))
	}
	before, after := split(events), split(got)
	if len(before) != len(after) {
		t.Fatalf("seed %d: %d runs become %d", seed, len(before), len(after))
	}
	compared = true
	for i := range before {
		messages, state := reduced(t, before[i])
		nowMessages, nowState := reduced(t, after[i])
		repeats := hasRepeats(t, got)
		moved := messages != nowMessages && isMoved(t, messages, nowMessages)
		if messages != nowMessages && !repeats && !moved || state != nowState {
			t.Fatalf("seed %d: run %d:\n%s\nbecomes\n%s\nmessages and state are\n%s\n%s\nand then\n%s\n%s", seed, i, strings.Join(before[i], "\n"), strings.Join(after[i], "\n"), messages, state, nowMessages, nowState)
		}
		compared = compared && !repeats && !moved
	}
	return compared
}

// TestSnapshotAgain checks that compacting again changes nothing, also on streams with
// extensions, with events of earlier versions and with broken sequences.
func TestSnapshotAgain(t *testing.T) {
	all := judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations}
	for seed := range uint64(judge.Streams(1000)) {
		r := rand.New(rand.NewPCG(seed, 3))
		events := judge.Generate(r, all)
		if seed%2 == 1 {
			events = judge.Damage(r, events)
		}
		got, _, err := snapshot(t, defaultLimits, events)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again, _, err := snapshot(t, defaultLimits, got)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("seed %d: compacting again changes the stream: first -, then +:\n%s\nfrom\n%s", seed, diff, strings.Join(events, "\n"))
		}
	}
}

// hasRepeats reports whether a MESSAGES_SNAPSHOT has an id twice.
func hasRepeats(t testing.TB, events []string) bool {
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := e.Get("messages")
		messages := readMessages(list)
		if len(historyOf(messages)) < len(messages) {
			return true
		}
	}
	return false
}

// isMoved reports whether two lists have the same messages in another order, and at least
// one reasoning message.
func isMoved(t testing.TB, a, b string) bool {
	sorted := func(text string) []string {
		var o envelope.Object
		v, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range readMessages(v) {
			text, err := judge.Normalize(string(m.text))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, text)
		}
		slices.Sort(list)
		return list
	}
	return strings.Contains(a, `"role":"reasoning"`) && slices.Equal(sorted(a), sorted(b))
}
