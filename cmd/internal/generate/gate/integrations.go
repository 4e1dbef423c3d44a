package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/envelope"
)

// integrations writes the tables about what each integration emits.
func integrations(b *bytes.Buffer, harnesses []harness, g gate.Gate) {
	b.WriteString("## The integrations\n\n### Runs by verdict\n\n| integration | runs | exact | reduced | chosen | incomplete | built | refused | HTTP error |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", s.Integration.Name, s.Runs,
			s.Count(analysis.Exact), s.Count(analysis.Reduced), s.Count(analysis.Chosen), s.Count(analysis.Incomplete), s.Count(analysis.Built), s.Count(analysis.Refused), s.WithoutRun)
	}
	b.WriteString("\n### Snapshots, ids, times and sizes\n\n| integration | finished runs with no / one / several snapshots | failed runs with no / one / several | streamed ids in the snapshot | request ids in the snapshot | time source | artifact smaller than run | smaller than envelope (without white space) |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		f, e, z := s.Snapshots.Finished, s.Snapshots.Failed, s.Sizes
		fmt.Fprintf(b, "| %s | %d / %d / %d | %d / %d / %d | %s | %s | %s | %d of %d | %d (%d) |\n", s.Integration.Name, f.None, f.One, f.Several, e.None, e.One, e.Several,
			ratio(s.IDs.StreamedKept, s.IDs.Streamed), ratio(s.IDs.RequestedKept, s.IDs.Requested), times(s), z.BelowRun, z.Artifacts, z.BelowEnvelope, z.CompactBelowEnvelope)
	}
	identities(b, harnesses, g)
	states(b, harnesses)
	b.WriteString("### Packages\n\nThe [harnesses](harness/README.md) page lists the packages that have no server of their own, and what serves them here.\n\n| integration | harness | pinned packages | captured |\n|---|---|---|---|\n")
	for _, h := range harnesses {
		day := h.first
		if h.last != h.first {
			day += " to " + h.last
		}
		fmt.Fprintf(b, "| %s | [%s](harness/%s/README.md) | %s | %s |\n", h.Integration, h.Name, h.Name, strings.Join(h.pins, ", "), day)
	}
	b.WriteString("\n")
}

// identities writes the table of ids that integrations chose.
func identities(b *bytes.Buffer, harnesses []harness, g gate.Gate) {
	b.WriteString("\n### Ids chosen by integrations\n\nIds that the request did not choose, by shape. Ids from the scripted models are not counted.\n\n| integration | requests without ids: run / HTTP error | threadId and runId in RUN_STARTED | other ids in the terminal event | message ids in the stream | message ids in snapshots | valid references |\n|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		began, ended := shapes{}, shapes{}
		all, taken := 0, 0
		for _, m := range s.Anchors.Minted {
			if m.Event == envelope.RunStarted {
				began[m.Shape] += m.Count
			} else {
				ended[m.Shape] += m.Count
			}
			all += m.Count
			taken += m.Valid
		}
		ids := newMessageIDs()
		for _, h := range harnesses {
			for _, one := range h.details {
				if one.run.Integration == s.Integration {
					ids.add(one.ids)
				}
			}
		}
		fmt.Fprintf(b, "| %s | %d / %d | %s | %s | %s | %s | %s |\n", s.Integration.Name, s.Anchors.Answered, s.Anchors.HTTPErrors,
			began, ended, ids.streamed, ids.snapshot, ratio(taken+ids.valid, all+ids.streamed.total()+ids.snapshot.total()))
	}
	b.WriteString("\n")
}

// String returns the counts as text, most common shape first.
func (s shapes) String() string {
	if len(s) == 0 {
		return "–"
	}
	names := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		if s[a] != s[b] {
			return s[b] - s[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", s[name], name)
	}
	return strings.Join(names, ", ")
}

// states writes the table of what state and activity events contain and artifacts omit.
func states(b *bytes.Buffer, harnesses []harness) {
	b.WriteString("### Contents of state and activity events\n\nArtifacts contain nothing from these events, so this table shows what they omit. Strings are counted only in runs with an artifact.\n\n| integration | runs with such events | bytes | runs with a state that is not empty | keys of the state | runs with a string that the artifact does not contain (with several words) |\n|---|---|---|---|---|---|\n")
	for _, h := range harnesses {
		var c stateCounts
		keys := make(map[string]bool)
		for _, s := range h.details {
			c.add(s.state)
			for _, k := range s.state.keys {
				keys["`"+k+"`"] = true
			}
		}
		names := strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
		if names == "" {
			names = "–"
		}
		fmt.Fprintf(b, "| %s | %s | %d | %d | %s | %d (%d) |\n", h.Integration.Name, ratio(c.runs, len(h.details)), c.bytes, c.nonempty, names, c.strings, c.multiWord)
	}
	b.WriteString("\n")
}

func times(s gate.Summary) string {
	var parts []string
	for _, c := range s.Times {
		source := string(c.Source)
		if source == "" {
			source = "none"
		}
		parts = append(parts, fmt.Sprintf("%s %d", source, c.Runs))
	}
	if s.Implausible > 0 {
		parts = append(parts, fmt.Sprintf("implausible timestamp %d", s.Implausible))
	}
	return strings.Join(parts, ", ")
}

// otherScenarios writes why runs of the other scenarios do not qualify, and what
// artifacts omit.
func otherScenarios(b *bytes.Buffer, g gate.Gate, needed []string) {
	b.WriteString("## Results of the other scenarios\n\nThis table does not affect which integrations qualify. Some of these scenarios are made to have no usable snapshot: they turn snapshots off, make the model fail, or send empty ids. The last column covers the runs of all scenarios that produce an artifact. It lists what the artifact omits from the one snapshot, or from the last of several. The record of the artifact lists the same.\n\n| integration | why runs of the other scenarios have no artifact of a usable snapshot | what artifacts omit from the snapshot |\n|---|---|---|\n")
	for _, s := range g.Summaries {
		left := shortfalls(s.ExtraContent, nil)
		if n := s.Snapshots; n.Finished.One+n.Finished.Several+n.Failed.One+n.Failed.Several == 0 {
			left = "unknown: no snapshot was emitted"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, shortfalls(s.Obstacles, needed), left)
	}
	b.WriteString("\n")
}

// shortfalls returns what is missing or omitted and in which runs, without the runs of
// the excluded scenarios.
func shortfalls(list []gate.Problem, excluded []string) string {
	var parts []string
	for _, n := range list {
		runs := slices.DeleteFunc(slices.Clone(n.Runs), func(name string) bool { return slices.Contains(excluded, name) })
		if len(runs) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", n.Shortfall(), strings.Join(runs, ", ")))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
