package trace_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/internal/testkit"
)

const (
	// allMutants is the number of mutants that show that the comparison is sensitive. The lane
	// client makes them all, and TestMutants as many of them as it has time for.
	allMutants  = 50_000
	someMutants = 5_000

	// leastOfKind is the number of mutants that each kind needs to have of all.
	leastOfKind = 200

	// generated is the number of generated streams that are changed in addition to the captures.
	generated = 100
)

// A stream is a capture to make mutants of.
type stream struct {
	name   string
	events []*jsonvalue.Object // shared by the mutants, which change copies
	lines  []*trace.Line
	whole  *reader // under all rules
}

// A mutant is a stream with a small change.
type mutant struct {
	*rand.Rand
	kind   *kind
	of     *stream
	seed   uint64
	events []*jsonvalue.Object
	// respelled are the events whose strings are written with other escapes.
	respelled []*jsonvalue.Object
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s, of %s, seed %d", m.kind.name, m.of.name, m.seed)
}

// texts returns the events of a mutant.
func (m *mutant) texts() (list []string) {
	for _, e := range m.events {
		text := string(jsonvalue.Append(nil, e))
		if slices.Contains(m.respelled, e) {
			text = respell(text)
		}
		list = append(list, text)
	}
	return list
}

// parsed returns the value of a JSON text.
func parsed(text string) jsonvalue.Value {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, strictjson.NewDecoder([]byte(text)), []byte(text))
	if err != nil {
		panic(err.Error() + ": " + text)
	}
	return jsonvalue.Parse(v)
}

// linesOf returns the trace of a stream.
func linesOf(t testing.TB, texts []string) (list []*trace.Line) {
	t.Helper()
	next := source(t, texts...)
	for {
		l, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if l == nil {
			return list
		}
		list = append(list, l)
	}
}

// corpus returns the streams to change: the committed captures, those of older releases, and
// generated streams, because no capture has subagents, patches of activities or several runs.
func corpus(t testing.TB) (list []*stream) {
	t.Helper()
	all := captured(t)
	drift, err := filepath.Glob("../../discovery/drift/captures/*/*/response.sse")
	if err != nil || len(drift) < 20 {
		t.Fatalf("%d captures of older releases: %v", len(drift), err)
	}
	for _, path := range drift {
		all[filepath.Dir(path)] = eventsIn(testkit.Read(t, path))
	}
	for i := range generated {
		all[fmt.Sprintf("generated %d", i)] = judge.Generate(rand.New(rand.NewPCG(1, uint64(i))), judge.Generator{})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := &stream{name: name, lines: linesOf(t, all[name])}
		for _, text := range all[name] {
			s.events = append(s.events, parsed(text).(*jsonvalue.Object))
		}
		if len(s.events) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// mutants makes mutants, of all kinds in turn, and passes each to do.
func mutants(t *testing.T, n int, do func(*mutant)) {
	t.Helper()
	streams := corpus(t)
	made := make([]int, len(kinds))
	for seed := range uint64(n) {
		k := int(seed) % len(kinds)
		r := rand.New(rand.NewPCG(20, seed))
		for range 500 {
			of := streams[r.IntN(len(streams))]
			if len(of.events) > 150 && r.IntN(100) > 0 {
				continue // long captures take long
			}
			m := &mutant{Rand: r, kind: &kinds[k], of: of, seed: seed, events: slices.Clone(of.events)}
			if m.kind.change(m) {
				made[k]++
				do(m)
				break
			}
		}
	}
	for i, k := range kinds {
		if made[i] < leastOfKind*n/allMutants {
			t.Errorf("%s made only %d mutants", k.name, made[i])
		}
	}
}

// report returns the differences between a mutant and its stream, and the number of lines in
// which the command prints them.
func (m *mutant) report(t testing.TB) (list []*trace.Difference, printed int) {
	t.Helper()
	err := trace.Compare(listed(m.of.lines), listed(linesOf(t, m.texts())), trace.Comparison{}, func(d *trace.Difference) error {
		list = append(list, d)
		return nil
	})
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	for _, d := range list {
		printed++
		if d.Kind != trace.Changed {
			printed++ // the text
		}
		for _, c := range d.Changes {
			printed++
			for _, v := range [...][]byte{c.A, c.B} {
				if v != nil {
					printed++
				}
			}
		}
	}
	return list, printed
}

// listed returns a source of copies of lines.
func listed(lines []*trace.Line) trace.Source {
	i := 0
	return func() (*trace.Line, error) {
		if i == len(lines) {
			return nil, nil
		}
		i++
		return lines[i-1].Clone(), nil
	}
}

// printed returns differences as text.
func printed(list []*trace.Difference) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s", d.Kind)
		if d.A != nil {
			fmt.Fprintf(&b, "\n\tA %d %.300s", d.A.First.Index, d.A.Text)
		}
		if d.B != nil {
			fmt.Fprintf(&b, "\n\tB %d %.300s", d.B.First.Index, d.B.Text)
		}
		for _, c := range d.Changes {
			fmt.Fprintf(&b, "\n\t%s: %.100s: %.100s", c.Pointer, c.A, c.B)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A tally counts mutants.
type tally struct {
	made, reported, equal map[string]int
	byRule                map[string]int
	lines                 []int
	worst                 map[string]int // printed lines by kind
}

func newTally() *tally {
	return &tally{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, nil, map[string]int{}}
}

// judge compares a mutant with its stream, and checks that it is reported exactly if it is not
// equal by the rules. If it is equal, it returns the rule
// and the ids that correspond.
func (c *tally) judge(t *testing.T, m *mutant) (string, *exchange) {
	t.Helper()
	differences, lines := m.report(t)
	rule, ids := equalBy(m.of, m.events)
	c.made[m.kind.name]++
	switch {
	case m.kind.equal && rule == "":
		t.Errorf("%v: the test itself has no rule for it:\n%s", m, strings.Join(m.changed(), "\n"))
	case rule == "" && len(differences) == 0:
		t.Errorf("%v is not reported:\n%s", m, strings.Join(m.changed(), "\n"))
	case rule != "" && len(differences) > 0:
		t.Errorf("%v is reported, but equal by %s:\n%s%s", m, rule, strings.Join(m.changed(), "\n"), printed(differences))
	case rule != "":
		c.equal[m.kind.name]++
		c.byRule[rule]++
		return rule, ids
	default:
		c.reported[m.kind.name]++
		c.lines = append(c.lines, lines)
		c.worst[m.kind.name] = max(c.worst[m.kind.name], lines)
	}
	return "", nil
}

// changed returns the events that only the stream or only the mutant has, as text.
func (m *mutant) changed() (list []string) {
	for i, e := range m.of.events {
		if i >= len(m.events) || m.events[i] != e {
			list = append(list, fmt.Sprintf("\t- %d %.300s", i, jsonvalue.Append(nil, e)))
		}
		if len(list) > 6 {
			break
		}
	}
	n := len(list) + 6
	for i, e := range m.events {
		if i >= len(m.of.events) || m.of.events[i] != e {
			list = append(list, fmt.Sprintf("\t+ %d %.300s", i, jsonvalue.Append(nil, e)))
		}
		if len(list) > n {
			break
		}
	}
	return list
}

// log writes the figures, and checks that differences are short.
func (c *tally) log(t *testing.T) {
	t.Helper()
	for _, k := range kinds {
		t.Logf("%-44s %5d made %5d reported %5d equal, at most %d lines", k.name, c.made[k.name], c.reported[k.name], c.equal[k.name], c.worst[k.name])
	}
	for _, rule := range ruleNames {
		t.Logf("%d equal by %s", c.byRule[rule], rule)
	}
	if len(c.lines) == 0 {
		t.Fatal("no mutant is reported")
	}
	slices.Sort(c.lines)
	n := len(c.lines)
	t.Logf("%d reported: printed lines: median %d, 90 %% %d, 99 %% %d, at most %d", n, c.lines[n/2], c.lines[n*9/10], c.lines[n*99/100], c.lines[n-1])
	if c.lines[n/2] > 6 {
		t.Errorf("the median of printed lines is %d", c.lines[n/2])
	}
}

// Every small change of a stream is reported, unless a rule makes it equal.
func TestMutants(t *testing.T) {
	t.Parallel()
	c := newTally()
	mutants(t, someMutants, func(m *mutant) { c.judge(t, m) })
	c.log(t)
}

// eventsIn returns the events of a response.
func eventsIn(response []byte) (events []string) {
	for line := range strings.Lines(string(response)) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:")
		if _, err := envelope.ReadEvent([]byte(strings.TrimSpace(text))); ok && err == nil {
			events = append(events, strings.TrimSpace(text))
		}
	}
	return events
}
