package main

import (
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
	"github.com/p20export/p20export/serve"
)

// stablePath is the file that lists the names that docs/stability.md promises to keep.
const stablePath = "../../docs/stable.txt"

// flagUsage matches a flag in the help of a command.
var flagUsage = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z-]+)`)

// TestStable checks that the program and the list have the same names. With -update, it adds
// new names to the list. Names may only be removed by hand, and never after version 1.0.
func TestStable(t *testing.T) {
	t.Parallel()
	now := stableNames(t)
	listed := strings.Split(strings.TrimSuffix(string(testkit.Read(t, stablePath)), "\n"), "\n")
	if *update {
		listed = slices.Concat(listed, now)
		slices.Sort(listed)
		listed = slices.DeleteFunc(slices.Compact(listed), func(s string) bool { return s == "" })
		testkit.Write(t, stablePath, strings.Join(listed, "\n")+"\n")
	}
	for _, name := range listed {
		if !slices.Contains(now, name) {
			t.Errorf("%q is promised in docs/stable.txt and is gone", name)
		}
	}
	for _, name := range now {
		if !slices.Contains(listed, name) {
			t.Errorf("%q is new: add it to docs/stable.txt with -update", name)
		}
	}
	if !slices.IsSorted(listed) || len(slices.Compact(slices.Clone(listed))) != len(listed) {
		t.Error("docs/stable.txt is not sorted, or has a line twice")
	}
}

// TestRowTable checks that docs/stability.md lists every type of row.
func TestRowTable(t *testing.T) {
	const path, head = "../../docs/stability.md", "| type | a row of |\n|---|---|\n"
	page := string(testkit.Read(t, path))
	before, rest, found := strings.Cut(page, head)
	at := strings.Index(rest, "\n\n")
	if !found || at < 0 {
		t.Fatalf("%s has no table of types", path)
	}
	var table strings.Builder
	for _, of := range render.RowTypes() {
		command, about, _ := strings.Cut(strings.TrimSuffix(of.About, "."), ": ")
		fmt.Fprintf(&table, "| `%s` | `%s`: %s |\n", of.Name, command, about)
	}
	unchanged(t, path, []byte(before+head+table.String()+rest[at+1:]))
}

// Every promised rule has an anchor in the pages.
func TestRulesHaveAnchors(t *testing.T) {
	t.Parallel()
	for _, r := range docs.Rules() {
		if !slices.Contains(anchors(t, "../../docs/"+r.Page), r.ID) {
			t.Errorf("docs/%s has no anchor %s", r.Page, r.ID)
		}
	}
}

// stableNames lists the names of the program, each preceded by its kind.
func stableNames(t *testing.T) (list []string) {
	t.Helper()
	add := func(kind, format string, args ...any) { list = append(list, kind+" "+fmt.Sprintf(format, args...)) }
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "p20export ")
		add("command", "%s", path)
		for _, flag := range flagUsage.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
			add("flag", "%s --%s", path, flag[2])
			if flag[1] != "" {
				add("flag", "%s -%s", path, flag[1])
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(newRoot(nil, io.Discard, io.Discard))
	for _, s := range []render.Status{render.Done, render.Negative, render.Usage, render.Failed} {
		add("exit", "%d", s)
	}
	for _, f := range []render.Format{render.Text, render.JSON, render.SARIF, render.JUnit, render.Dot, render.Mermaid} {
		add("format", "%s", f)
	}
	for _, c := range finding.Codes() {
		add("code", "%s", c)
	}
	for _, r := range docs.Rules() {
		add("rule", "%s#%s", r.Page, r.ID)
	}
	for _, name := range schema.Names() {
		add("schema", "%s", schema.FileName(name))
	}
	for _, v := range []string{artifact.Schema, capture.ManifestSchema, record.StatementType, record.PredicateType, baseline.Schema, assay.ReceiptSchema, assay.ReceiptSchemaV1} {
		add("version", "%s", v)
	}
	for _, p := range artifact.Profiles() {
		add("profile", "%s", p)
	}
	for _, name := range project.Names() {
		for v := range name.Version() {
			add("projection", "%s@%d", name, v+1)
		}
	}
	for _, name := range []string{capture.ManifestName, capture.RequestName, capture.ArrivalsName, capture.SSE.FileName(), capture.NDJSON.FileName(), capture.JSON.FileName(),
		"NAME" + record.ArtifactSuffix, "NAME" + record.EnvelopeSuffix, "NAME" + record.Suffix, scenario.ScenariosName, scenario.ExpectedName, scenario.HarnessName} {
		add("file", "%s", name)
	}
	for _, v := range render.Verdicts() {
		add("verdict", "%s", v)
	}
	for _, v := range gate.Decisions() {
		add("qualifies", "%s", v)
	}
	for _, v := range gate.Requirements() {
		add("lacks", "%s", v)
	}
	for _, v := range render.FailOns() {
		add("fail-on", "%s", v)
	}
	for _, c := range scenario.Causes() {
		add("cause", "%s", c)
	}
	for _, v := range append(analysis.Verdicts(), analysis.Missing) {
		if v != analysis.Refused { // already in render.Verdicts
			add("verdict", "%s", v)
		}
	}
	for _, name := range metricNames(t) {
		add("metric", "%s", name)
	}
	list = append(list, rowKeys(t)...)
	slices.Sort(list)
	return list
}

// sample matches the name and the labels of a sample of a metric of this program.
var sample = regexp.MustCompile(`(?m)^(p20export_\w+)(?:\{(.*?)\})? `)

// metricNames lists the metrics of servers with their labels.
func metricNames(t *testing.T) (list []string) {
	t.Helper()
	none := func() int64 { return 0 }
	p := monitor.NewProxy(nil, nil, none)
	p.Ended(proxy.Exchange{})
	p.Frozen("")
	p.Refused(0)
	p.LogAppended(1, true)
	p.Logged("")
	s := monitor.NewServe(nil, func() serve.Stats { return serve.Stats{} }, nil, none)
	s.RunEnded("", 0)
	s.Reading("", 0)
	s.Joined("", 0)
	s.Refused("")
	for _, m := range []*monitor.Monitor{p.Monitor, s.Monitor} {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, found := range sample.FindAllStringSubmatch(w.Body.String(), -1) {
			name := found[1]
			for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(found[2], -1) {
				name += " " + label[1]
			}
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// rowKeys lists the keys of every type of row in the schema, at any depth. Optional keys have
// a question mark. Of the row of the gate, it lists only the type.
func rowKeys(t *testing.T) (list []string) {
	t.Helper()
	data, _ := schema.Get(schema.Rows)
	value, err := schematest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	defs := value.(map[string]any)["$defs"].(map[string]any)
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		if ref, ok := s["$ref"].(string); ok {
			walk(at, defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any))
		}
		if either, ok := s["anyOf"].([]any); ok { // or null
			walk(at, either[0].(map[string]any))
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(at+"[]", items)
		}
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			name := at + "." + key
			if !slices.Contains(required, any(key)) {
				name += "?"
			}
			list = append(list, name)
			walk(at+"."+key, properties[key].(map[string]any))
		}
	}
	for _, of := range render.RowTypes() {
		if of.Name == "gate" {
			list = append(list, "row gate.type")
			continue // the gate is only about this project's questions
		}
		walk("row "+of.Name, defs[of.Name].(map[string]any))
	}
	return list
}
