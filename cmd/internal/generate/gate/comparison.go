package main

import (
	"bytes"
	"fmt"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
)

const comparisonHead = `# Integrations compared

%d integrations with unmodified packages and scripted models, in %d captures. On the site that ` + "`make site`" + ` builds, a heading sorts by its column. [GATE.md](../discovery/GATE.md) has the same figures with their definitions and more, [LINT.md](../discovery/LINT.md) the findings, and ` + "`make gate`" + ` generates this page. An integration that is not listed was not tested.

<div class="sortable" markdown>

| integration | version | qualifies | captures | exact | reduced | chosen | built | refused | artifact smaller than run | with errors of lint | with warnings |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`

const comparisonFoot = `
</div>

*Qualifies* says whether every needed scenario has one usable MESSAGES_SNAPSHOT. *Exact* to *refused* count runs by the best artifact that they have: of their one snapshot, unchanged or reduced to text; of one of several; built from the stream; none. The last columns count captures.
`

// comparison returns the text of docs/comparison.md.
func comparison(harnesses []harness, list *scenario.List) []byte {
	var b bytes.Buffer
	var runs []analysis.Run
	linted := make(map[string]map[finding.Severity]int)
	captures := make(map[string]int)
	for _, h := range harnesses {
		runs = append(runs, h.runs...)
		captures[h.Integration.Name] = h.captureCount
		linted[h.Integration.Name] = withFindings(h.lint)
	}
	fmt.Fprintf(&b, comparisonHead, len(harnesses), countCaptures(harnesses))
	for _, s := range gate.Evaluate(runs, list.Needed(), artifact.V1).Summaries {
		name := s.Integration.Name
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %d | %d | %d | %d of %d | %d | %d |\n", name, s.Integration.Version, s.Qualification.Qualifies, captures[name],
			s.Count(analysis.Exact), s.Count(analysis.Reduced), s.Count(analysis.Chosen), s.Count(analysis.Built), s.Count(analysis.Refused), s.Sizes.BelowRun, s.Sizes.Artifacts,
			linted[name][finding.Error], linted[name][finding.Warning])
	}
	b.WriteString(comparisonFoot)
	return b.Bytes()
}
