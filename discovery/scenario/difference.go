package scenario

import (
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// diffExpectation returns a finding for each difference between the expectation e and the
// observed one. The pointers are into the expectation.
func diffExpectation(e, observed *Expectation) []finding.Finding {
	var d differences
	d.text("/http_status", strconv.Itoa(e.HTTPStatus), strconv.Itoa(observed.HTTPStatus))
	d.text("/end", string(e.End), string(observed.End))
	d.text("/terminal", e.Terminal, observed.Terminal)
	d.text("/time_source", string(e.TimeSource), string(observed.TimeSource))
	d.text("/parent", e.Parent, observed.Parent)
	for _, name := range project.Names() {
		at := finding.Pointer("/freeze").Name(string(name))
		want, have := e.Freeze.Outcome(name), observed.Freeze.Outcome(name)
		d.text(at+"/verdict", string(want.Verdict), string(have.Verdict))
		d.text(at+"/origin", string(want.Origin), string(have.Origin))
		d.list(at+"/roles", want.Roles, have.Roles)
		d.list(at+"/omissions", want.Omissions, have.Omissions)
		d.list(at+"/reasons", want.Reasons, have.Reasons)
	}
	return d
}

type differences []finding.Finding

func (d *differences) add(at finding.Pointer, format string, args ...any) {
	*d = append(*d, finding.New(finding.ScenarioUnexpected, format, args...).WithPointer(at))
}

func (d *differences) text(at finding.Pointer, want, have string) {
	if want != have {
		d.add(at, "expected %s, got %s", orNone(want), orNone(have))
	}
}

// list reports the elements that are in only one of the lists, or a different order.
func (d *differences) list(at finding.Pointer, want, have []string) {
	missing, more := subtract(want, have), subtract(have, want)
	switch {
	case slices.Equal(want, have):
	case len(missing) == 0 && len(more) == 0:
		d.add(at, "wrong order: expected %s; got %s", joinEscaped(want), joinEscaped(have))
	case len(more) == 0:
		d.add(at, "missing: %s", joinEscaped(missing))
	case len(missing) == 0:
		d.add(at, "unexpected: %s", joinEscaped(more))
	default:
		d.add(at, "missing: %s; unexpected: %s", joinEscaped(missing), joinEscaped(more))
	}
}

// subtract returns the elements of a without those of b, taking repetitions into account.
func subtract(a, b []string) []string {
	rest := slices.Clone(b)
	var only []string
	for _, s := range a {
		if i := slices.Index(rest, s); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			only = append(only, s)
		}
	}
	return only
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return finding.Quote(s)
}

func joinEscaped(l []string) string { return finding.Escape(strings.Join(l, ", ")) }
