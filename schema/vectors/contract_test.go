package vectors_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/schema"
)

const (
	contract     = "../../docs/contract.md"
	findingsPage = "../../docs/findings.md"
	vectorsPage  = "../../docs/vectors.md"
)

// The tables in the documentation are up to date with the code and the vectors.
func TestContractTables(t *testing.T) {
	for _, table := range []struct{ page, name, content string }{
		{contract, "inexpressible", inexpressibleTable()},
		{findingsPage, "codes", codesTable()},
		{vectorsPage, "vectors", vectorsTable(load(t))},
	} {
		b, err := os.ReadFile(table.page)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+table.name+": made by make vectors -->\n", "<!-- "+table.name+" end -->\n"
		before, rest, ok1 := strings.Cut(string(b), begin)
		got, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no marks for the table of %s", table.page, table.name)
		}
		want := "\n" + table.content + "\n"
		diff := cmp.Diff(want, got)
		if diff == "" {
			continue
		}
		if !*update {
			t.Errorf("the table of %s is out of date: run 'make vectors' and review the changes\n%s", table.name, diff)
			continue
		}
		if err := os.WriteFile(table.page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func inexpressibleTable() string {
	var b strings.Builder
	b.WriteString("| schema | rules | what it cannot express |\n|---|---|---|\n")
	for _, name := range []string{schema.Artifact, schema.ArtifactAssay, schema.Envelope} {
		inV1 := len(schema.Inexpressible(schema.Artifact))
		for i, u := range schema.Inexpressible(name) {
			if len(u.Rules) > 0 && (name != schema.ArtifactAssay || i >= inV1) {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", name, strings.Join(u.Rules, ", "), u.Text)
			}
		}
	}
	return b.String()
}

func codesTable() string {
	rulesOf := make(map[finding.Code][]string)
	for _, r := range finding.Rules() {
		rulesOf[r.Code] = append(rulesOf[r.Code], fmt.Sprintf("[%s](contract.md#%s)", r.ID, r.ID))
	}
	for _, r := range finding.SequenceRules() {
		rulesOf[r.Code] = append(rulesOf[r.Code], fmt.Sprintf("[%s](sequence.md#%s)", r.ID, r.ID))
	}
	for _, r := range finding.LintRules() {
		rulesOf[r.Code] = append(rulesOf[r.Code], fmt.Sprintf("[%s](lint.md#%s)", r.ID, r.ID))
	}
	var b strings.Builder
	b.WriteString("| code | severity | rules | what it means | what to do |\n|---|---|---|---|---|\n")
	for _, code := range finding.Codes() {
		about, _ := finding.Describe(code)
		fmt.Fprintf(&b, "| <a id=%q></a>`%s` | %s | %s | %s | %s |\n", code, code, about.Severity, strings.Join(rulesOf[code], ", "), cell(about.Meaning), cell(about.Hint))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func vectorsTable(all []vector) string {
	count := make(map[string][2]int)
	for _, v := range all {
		n := count[v.Rule]
		n[map[string]int{"accepted": 0, "malformed": 1}[v.Outcome]]++
		count[v.Rule] = n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files in all.\n\n| rule | accepted | malformed |\n|---|---|---|\n", len(all))
	for _, r := range finding.Rules() {
		fmt.Fprintf(&b, "| [%s](../schema/vectors/cases/%s/) | %d | %d |\n", r.ID, r.ID, count[r.ID][0], count[r.ID][1])
	}
	return b.String()
}

// The vectors have exactly the codes of the rules, and a test or a script has every other
// code of the program.
func TestEveryCodeIsShown(t *testing.T) {
	t.Parallel()
	ruled, shown := make(map[string]bool), make(map[string]bool)
	for _, r := range finding.Rules() {
		if r.Code != "" {
			ruled[string(r.Code)] = true
		}
	}
	ruled[string(finding.FindingsUnlisted)] = true
	for _, v := range load(t) {
		for _, e := range v.Findings {
			shown[e.Code] = true
		}
	}
	if diff := cmp.Diff(ruled, shown); diff != "" {
		t.Errorf("the codes of the rules differ from those of the vectors: %s", diff)
	}
	for _, word := range regexp.MustCompile(`(\bfinding\.)?\b\w+`).FindAllString(testSources(t), -1) {
		shown[word] = true
	}
	for _, code := range finding.Codes() {
		if !shown[string(code)] && !shown["finding."+constant(t, code)] {
			t.Errorf("no test has the code %s", code)
		}
	}
}

// constant returns the Go name of a code.
func constant(t *testing.T, code finding.Code) string {
	t.Helper()
	b, err := os.ReadFile("../../finding/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(\w+)\s+Code = "` + string(code) + `"`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("%s has no constant", code)
	}
	return string(m[1])
}

// testSources returns the text of every test and testscript of the repository, except tests
// of the codes themselves.
func testSources(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{"artifact", "capture", "cmd", "discovery", "envelope", "internal/atomicfile", "project", "store"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") {
				return err
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if b.Len() < 100_000 {
		t.Fatal("the tests were not found")
	}
	return b.String()
}

// The vectors test every family of the contract.
func TestContractFamilies(t *testing.T) {
	b, err := os.ReadFile(contract)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## 6. Event families")
	section, _, _ = strings.Cut(section, "\n## ")
	types, keys, _ := strings.Cut(section, "These normal forms name")
	_, types, _ = strings.Cut(types, "names that type: ")
	got := strings.Split(strings.TrimSuffix(strings.TrimSpace(types), "."), ", ")
	if diff := cmp.Diff(eventTypes, got); diff != "" {
		t.Error(diff)
	}
	var stated []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\|").FindAllStringSubmatch(keys, -1) {
		for name := range strings.FieldsSeq(strings.ReplaceAll(strings.Split(row[1], "|")[0], "`", "")) {
			stated = append(stated, name)
		}
	}
	var tried []string
	for _, k := range familyKeys {
		tried = append(tried, strings.ToLower(k))
	}
	slices.Sort(stated)
	slices.Sort(tried)
	if diff := cmp.Diff(tried, stated); diff != "" {
		t.Error(diff)
	}
}
