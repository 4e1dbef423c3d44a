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

// standings writes what each integration emits.
func standings(b *bytes.Buffer, lanes []lane, g gate.Gate) {
	b.WriteString("## The integrations\n\n### What became of their runs\n\n| integration | runs | exact | reduced | chosen | incomplete | built | refused | HTTP error |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", s.Integration.Name, s.Runs,
			s.Count(analysis.Exact), s.Count(analysis.Reduced), s.Count(analysis.Chosen), s.Count(analysis.Incomplete), s.Count(analysis.Built), s.Count(analysis.Refused), s.WithoutRun)
	}
	b.WriteString("\n### What they emit\n\n| integration | snapshots in finished runs: none / one / several | in failed runs | streamed ids in the snapshot | the request's | times from | artifact below its run | below its envelope (without white space) |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		f, e, z := s.Snapshots.Finished, s.Snapshots.Failed, s.Sizes
		fmt.Fprintf(b, "| %s | %d / %d / %d | %d / %d / %d | %s | %s | %s | %d of %d | %d (%d) |\n", s.Integration.Name, f.None, f.One, f.Several, e.None, e.One, e.Several,
			share(s.IDs.StreamedKept, s.IDs.Streamed), share(s.IDs.RequestedKept, s.IDs.Requested), times(s), z.BelowRun, z.Artifacts, z.BelowEnvelope, z.CompactBelowEnvelope)
	}
	identities(b, lanes, g)
	states(b, lanes)
	b.WriteString("### What they are\n\nThe [harnesses](harness/README.md) page says which packages have no server of their own, and what serves them here.\n\n| integration | harness | packages chosen | captured |\n|---|---|---|---|\n")
	for _, l := range lanes {
		day := l.first
		if l.last != l.first {
			day += " to " + l.last
		}
		fmt.Fprintf(b, "| %s | [%s](harness/%s/README.md) | %s | %s |\n", l.Integration, l.Name, l.Name, strings.Join(l.pins, ", "), day)
	}
	b.WriteString("\n")
}

// identities writes which ids integrations chose.
func identities(b *bytes.Buffer, lanes []lane, g gate.Gate) {
	b.WriteString("\n### Which ids they choose\n\nIds that the request did not choose, by what they look like. Ids of our scripted models do not count.\n\n| integration | requests without ids: run / HTTP error | threadId, runId of RUN_STARTED | other ids in the terminal event | message ids in the stream | in snapshots | taken as references |\n|---|---|---|---|---|---|---|\n")
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
		for _, l := range lanes {
			for _, one := range l.seen {
				if one.run.Integration == s.Integration {
					ids.add(one.ids)
				}
			}
		}
		fmt.Fprintf(b, "| %s | %d / %d | %s | %s | %s | %s | %s |\n", s.Integration.Name, s.Anchors.Answered, s.Anchors.HTTPErrors,
			began, ended, ids.streamed, ids.snapshot, share(taken+ids.taken, all+ids.streamed.total()+ids.snapshot.total()))
	}
	b.WriteString("\n")
}

// String spells the counts, the most common shape first.
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

// states writes what is in state and activity, and not in artifacts.
func states(b *bytes.Buffer, lanes []lane) {
	b.WriteString("### What state and activity hold\n\nArtifacts take nothing from these events, so this is what they leave out. Strings are those of runs with an artifact.\n\n| integration | runs with such events | their bytes | runs with a state that is not empty | its keys | runs with a string that is not in the artifact (of several words) |\n|---|---|---|---|---|---|\n")
	for _, l := range lanes {
		var c stateCounts
		keys := make(map[string]bool)
		for _, s := range l.seen {
			c.add(s.state)
			for _, k := range s.state.keys {
				keys["`"+k+"`"] = true
			}
		}
		names := strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
		if names == "" {
			names = "–"
		}
		fmt.Fprintf(b, "| %s | %s | %d | %d | %s | %d (%d) |\n", l.Integration.Name, share(c.runs, len(l.seen)), c.bytes, c.filled, names, c.strings, c.texts)
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
		parts = append(parts, fmt.Sprintf("own timestamp implausible %d", s.Implausible))
	}
	return strings.Join(parts, ", ")
}
