package assay

import (
	"fmt"
	"slices"
	"strings"
)

// mutation is one change to a valid bundle.
type mutation struct {
	name string
	// code is the refusal code, or empty if the bundle is accepted. TestJudgeMutations
	// confirms it with the published verifier.
	code   string
	strict bool // accepted, and with deviations
	change func(*forge)
}

const accepted = ""

// mutations returns all mutations. Their names are unique.
func mutations() []mutation {
	return slices.Concat(eventMutations(), typeMutations(), manifestMutations(), lineMutations(), jsonMutations(), tarMutations(), gzipMutations())
}

// event0 is a mutation of the first event with updated hashes.
func event0(name, code string, change func(e *object)) mutation {
	return mutation{name, code, true, func(f *forge) { change(&f.events[0]) }}
}

func flipHash(s string) string {
	i := strings.Index(s, "sha256:") + 7
	flipped := "0"
	if s[i] == '0' {
		flipped = "1"
	}
	return s[:i] + flipped + s[i+1:]
}

func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// keys returns an object with n keys.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// replace returns a hook that replaces text in the lines.
func replace(from, to string) func([]string) []string {
	return func(lines []string) []string {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], from, to)
		}
		return lines
	}
}

// stale changes the first event and keeps its content hash.
func stale(change func(e *object)) func(*forge) {
	return func(f *forge) {
		f.bytes()
		f.stale = true
		change(&f.events[0])
	}
}

// rename changes the run id everywhere.
func (f *forge) rename(id string) {
	f.each("assayrunid", `"`+id+`"`)
	for i := range f.events {
		f.events[i].set("id", fmt.Sprintf(`"%s:%d"`, id, i))
	}
	f.manifest = func(m *object) { m.set("run_id", `"`+id+`"`) }
}

// sorted adds fields to the first event at their canonical positions.
func (f *forge) sorted(fields object) {
	f.events[0] = append(f.events[0], fields...)
	slices.SortFunc(f.events[0], func(a, b pair) int { return strings.Compare(a.name, b.name) })
}
