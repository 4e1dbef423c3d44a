package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// A mix counts the results of captures. A run is counted once for each projection, with
// the first of the selections.
type mix struct {
	*options
	captures, disagreed int
	runs                int
	frozen, refused     map[project.Name]int
	targeted, hit       map[project.Name]int // streams made for a projection, and streams of which it froze a run
	reasons             map[finding.Code]int // runs with an omission of that reason
	errors              map[finding.Code]int // runs refused with that code
	times               map[project.TimeSource]int
	kinds               map[kind]int // streams of that kind
}

func newMix(o *options) *mix {
	return &mix{
		options: o, frozen: make(map[project.Name]int), refused: make(map[project.Name]int), targeted: make(map[project.Name]int), hit: make(map[project.Name]int),
		reasons: make(map[finding.Code]int), errors: make(map[finding.Code]int), times: make(map[project.TimeSource]int), kinds: make(map[kind]int),
	}
}

// count counts a capture and the results of the program.
func (m *mix) count(c *captured, ours projections) {
	m.captures++
	for _, results := range ours.Results {
		m.runs++
		counted := make(map[project.Name]bool)
		reasons, codes := make(map[finding.Code]bool), make(map[finding.Code]bool)
		for i, r := range results {
			for _, o := range r.Omissions {
				reasons[o.Reason] = true
			}
			for _, code := range r.Errors {
				codes[code] = true
			}
			name := c.settings[i].Projection
			if counted[name] {
				continue
			}
			counted[name] = true
			if r.Outcome == project.Frozen {
				m.frozen[name]++
				m.times[r.Times]++
			} else {
				m.refused[name]++
			}
		}
		for code := range reasons {
			m.reasons[code]++
		}
		for code := range codes {
			m.errors[code]++
		}
	}
}

// countTarget counts the target projection of a stream, and whether it froze one of the
// stream's runs.
func (m *mix) countTarget(name project.Name, c *captured, ours projections) {
	m.targeted[name]++
	for _, results := range ours.Results {
		for i, r := range results {
			if c.settings[i].Projection == name && r.Outcome == project.Frozen {
				m.hit[name]++
				return
			}
		}
	}
}

// add adds the counts of another mix.
func (m *mix) add(other *mix) {
	m.captures += other.captures
	m.disagreed += other.disagreed
	m.runs += other.runs
	sum(m.frozen, other.frozen)
	sum(m.refused, other.refused)
	sum(m.targeted, other.targeted)
	sum(m.hit, other.hit)
	sum(m.reasons, other.reasons)
	sum(m.errors, other.errors)
	sum(m.times, other.times)
	sum(m.kinds, other.kinds)
}

func sum[K comparable](to, from map[K]int) {
	for key, n := range from {
		to[key] += n
	}
}

// String returns the counts as text.
func (m *mix) String() string {
	var b strings.Builder
	for _, name := range project.Names() {
		fmt.Fprintf(&b, "  %s: %d of %d runs frozen", name, m.frozen[name], m.frozen[name]+m.refused[name])
		if n := m.targeted[name]; n > 0 {
			fmt.Fprintf(&b, ", and %d of the %d captures made for it", m.hit[name], n)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "  times: %s\n  omissions: %s\n  refusals: %s\n", counts(m.times), counts(m.reasons), counts(m.errors))
	if len(m.kinds) > 0 {
		fmt.Fprintf(&b, "  streams: %s\n", counts(m.kinds))
	}
	return b.String()
}

func counts[K ~string](of map[K]int) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %d", key, of[key]))
	}
	return strings.Join(all, ", ")
}

// verdict returns an error if any responses differed.
func (m *mix) verdict() error {
	if m.disagreed > 0 {
		return fmt.Errorf("%d disagreements; the captures are in %s", m.disagreed, m.keep)
	}
	return nil
}

// missing returns an error for each kind and code that no stream had. If the generator no
// longer made some kind of stream, nothing would be compared.
func (m *mix) missing() error {
	var all []error
	for _, k := range kinds {
		if m.kinds[k] == 0 {
			all = append(all, fmt.Errorf("no stream has %s", k))
		}
	}
	for _, code := range reasons {
		if m.reasons[code] == 0 {
			all = append(all, fmt.Errorf("no run has an omission for %s", code))
		}
	}
	for _, code := range refusals {
		if m.errors[code] == 0 {
			all = append(all, fmt.Errorf("no run is refused with %s", code))
		}
	}
	for _, source := range []project.TimeSource{project.EventTime, project.ArrivalTime, project.OperatorTime} {
		if m.times[source] == 0 {
			all = append(all, fmt.Errorf("no run has its times from the %s", source))
		}
	}
	for _, name := range project.Names() {
		if m.hit[name]*5 < m.targeted[name]*2 {
			all = append(all, fmt.Errorf("%s froze only %d of the %d streams made for it", name, m.hit[name], m.targeted[name]))
		}
	}
	return errors.Join(all...)
}

// reasons lists the reasons of omissions.
var reasons = []finding.Code{
	finding.ContentBlank, finding.ContentMissing, finding.ContentNotText, finding.ErrorStackTrace, finding.FamiliesUncounted, finding.KeyOutsideSubset, finding.OmissionsUncounted,
	finding.RequestAbsent, finding.RequestOtherRun, finding.RoleOutsideSubset, finding.SnapshotLacksText, finding.SnapshotNotChosen, finding.SubagentText,
	finding.TerminalOtherRun, finding.TextPartsJoined, finding.TextShortened, finding.ValueBlank, finding.ValueNull,
}

// refusals lists the codes that refuse runs, except file_too_large, because large files are
// rare.
var refusals = []finding.Code{
	finding.ArrayMalformed, finding.ContentBlank, finding.ContentMissing, finding.ContentNotText, finding.ControlCharacter, finding.ErrorStackTrace, finding.EventFieldMalformed,
	finding.EventNotObject, finding.EventTypeMissing, finding.EventsAfterTerminal, finding.JSONDuplicateKey, finding.JSONInvalidUTF8, finding.JSONSyntax,
	finding.JSONTooDeep, finding.JSONTrailing, finding.KeyMissing, finding.KeyOutsideSubset, finding.LoneSurrogate, finding.MessageIDRepeated,
	finding.MessageSpeakers, finding.MessagesTooMany, finding.NothingLeft, finding.RefNotOpaque, finding.RequestMalformed, finding.RoleOutsideSubset,
	finding.RunNotTerminated, finding.SnapshotBuilt, finding.SnapshotMalformed, finding.SnapshotMissing, finding.SnapshotOutOfRange, finding.SnapshotPresent,
	finding.SnapshotSeveral, finding.StartedAtMissing, finding.StreamedIDInRequest, finding.TerminalOtherRun, finding.TerminalOtherThread,
	finding.TerminalSeveral, finding.TextNotOpen, finding.TimesOutOfOrder, finding.TooLong, finding.ValueBlank, finding.ValueNull,
	finding.WrongType,
}
