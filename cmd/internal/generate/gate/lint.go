package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/lint"
)

// lintOf returns the rows of lint for the captures of a harness.
func lintOf(dirs []string) ([]lint.Row, error) {
	var rows []lint.Row
	for _, dir := range dirs {
		row := lint.Capture(context.Background(), inputs.File(dir), lint.Options{}, nil)
		if row.Verdict == project.Failed {
			return nil, fmt.Errorf("%s: %v", dir, row.Findings)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

const lintHead = `# What lint finds in real integrations

This page has what [p20export lint](../docs/lint.md) finds in the %d captures of [the discovery gate](GATE.md): %d integrations, each unmodified, with scripted models. A finding says something about these responses, not about every response of an integration. Some scenarios send requests that an integration should refuse, make the model fail, or stop the response. ` + "`make gate`" + ` generates the page, ` + "`make test`" + ` fails if it is out of date, ` + "`make recount`" + ` counts its figures with a second program, and ` + "`make discovery`" + ` lets lint judge every harness live and compares.

`

// lintDocument returns the text of LINT.md.
func lintDocument(harnesses []harness) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, lintHead, countCaptures(harnesses), len(harnesses))
	b.WriteString("## Verdicts\n\nA capture is refused if it has an error, and also if its response has another HTTP status than 200 and no run; these are counted apart. The last columns count the captures with an error, a warning or an info.\n\n| integration | version | captures | accepted | refused | HTTP errors | with errors | with warnings | with infos |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, h := range harnesses {
		var accepted, without int
		with := withFindings(h.lint)
		for _, row := range h.lint {
			switch {
			case row.Verdict == project.Accepted:
				accepted++
			case row.Runs == 0:
				without++
			}
		}
		n := len(h.lint)
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d |\n", h.Integration.Name, h.Integration.Version, n, accepted, n-accepted-without, without, with[finding.Error], with[finding.Warning], with[finding.Info])
	}
	lintFindings(&b, harnesses)
	lintFeatures(&b, harnesses)
	return b.Bytes()
}

// withFindings counts the rows with a finding of each severity.
func withFindings(rows []lint.Row) map[finding.Severity]int {
	with := make(map[finding.Severity]int)
	for _, row := range rows {
		seen := make(map[finding.Severity]bool)
		for _, rule := range row.Rules {
			seen[rule.Severity] = true
		}
		for s := range seen {
			with[s]++
		}
	}
	return with
}

// ruleCode is a rule and the code of its findings.
type ruleCode struct {
	rule     string
	code     finding.Code
	severity finding.Severity
}

// lintFindings writes the table of findings.
func lintFindings(b *bytes.Buffer, harnesses []harness) {
	b.WriteString("\n## Findings\n\nWith each rule, the severity and code of its findings, the number of captures that have one, the number of findings, and the first such capture. What an event breaks several times counts once, except for members that AG-UI does not define. [findings.md](../docs/findings.md) describes the codes; `p20export explain` has the rules.\n\n| integration | rule | severity | code | captures | findings | first capture |\n|---|---|---|---|---|---|---|\n")
	for _, h := range harnesses {
		captures, findings, first := make(map[ruleCode]int), make(map[ruleCode]int), make(map[ruleCode]string)
		for _, row := range h.lint {
			for _, c := range row.Rules {
				key := ruleCode{code: c.Code, severity: c.Severity}
				if c.Rule != nil {
					key.rule = *c.Rule
				}
				if captures[key] == 0 {
					first[key] = row.Capture
				}
				captures[key]++
				findings[key] += c.Count
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(captures), compareRules) {
			path := relative(first[key])
			fmt.Fprintf(b, "| %s | %s | %s | `%s` | %d | %d | [%s](%s) |\n", h.Integration.Name, ruleLink(key.rule), key.severity, key.code, captures[key], findings[key], path[strings.LastIndexByte(path, '/')+1:], path)
		}
	}
}

var severities = []finding.Severity{finding.Error, finding.Warning, finding.Info}

// compareRules sorts errors first, then by code and rule.
func compareRules(a, b ruleCode) int {
	if n := slices.Index(severities, a.severity) - slices.Index(severities, b.severity); n != 0 {
		return n
	}
	return strings.Compare(string(a.code)+" "+a.rule, string(b.code)+" "+b.rule)
}

// ruleLink returns a link to the text of a rule.
func ruleLink(rule string) string {
	switch {
	case rule == "":
		return "–"
	case rule[0] == 'G':
		return fmt.Sprintf("[%s](../docs/sequence.md#%s)", rule, rule)
	}
	return fmt.Sprintf("[%s](../docs/lint.md#%s)", rule, rule)
}

// lintFeatures writes the table of features.
func lintFeatures(b *bytes.Buffer, harnesses []harness) {
	b.WriteString("\n## Features\n\nThe number of captures that exercise each [feature of AG-UI](../docs/lint.md#6-features). Zero means that no scenario shows the feature, not that the integration lacks it.\n\n| feature |")
	for _, h := range harnesses {
		fmt.Fprintf(b, " %s |", h.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(harnesses)) + "\n")
	for _, name := range lint.Features() {
		fmt.Fprintf(b, "| `%s` |", name)
		for _, h := range harnesses {
			n := 0
			for _, row := range h.lint {
				if slices.Contains(row.Features, name) {
					n++
				}
			}
			fmt.Fprintf(b, " %d |", n)
		}
		b.WriteByte('\n')
	}
}
