package vectors_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/validate"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// An answer is the result of a validator for a file.
type answer struct {
	Verdict   string
	Canonical bool
	Digest    string // of the canonical file; empty when none is known
	Findings  []string
}

// want returns the expected answer of a validator that computes the canonical file of an
// artifact.
func (v *vector) want(data []byte) answer {
	a := answer{Verdict: v.Outcome, Canonical: v.CanonicalDigest == sum(data), Findings: v.list()}
	if v.Kind == "artifact" {
		a.Digest = v.CanonicalDigest
	}
	return a
}

func brief(findings []finding.Finding) []string {
	out := []string{}
	for _, f := range findings {
		// A validator may add information.
		if f.Severity == finding.Info && f.Code != finding.FindingsUnlisted {
			continue
		}
		out = append(out, strings.TrimSpace(string(f.Code)+" "+string(f.Pointer)))
	}
	return out
}

// rules returns the rules of findings.
func rules(findings []finding.Finding) map[string]bool {
	all := make(map[string]bool)
	for _, f := range findings {
		all[f.Rule] = true
	}
	return all
}

func (v *vector) data(t *testing.T) []byte {
	t.Helper()
	data, err := v.Input.bytes()
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	return data
}

// validateFile returns the library's answer without findings, and the findings.
func validateFile(t *testing.T, v vector, data []byte) (answer, []finding.Finding) {
	t.Helper()
	if v.Kind == "artifact" {
		a, findings := artifact.Decode(data, artifact.Profile(v.Profile))
		if a == nil {
			return answer{Verdict: "malformed"}, findings
		}
		return answer{Verdict: "accepted", Canonical: artifact.IsCanonical(data, a), Digest: sum(artifact.Encode(a))}, findings
	}
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	row := validate.File(t.Context(), file, artifact.Profile(v.Profile), validate.Envelope)
	return answer{Verdict: string(row.Verdict), Canonical: *row.Canonical}, row.Findings
}

// The library returns the expected answer for every vector, and findings with its rule.
func TestLibrary(t *testing.T) {
	t.Parallel()
	sides := make(map[string]both)
	for _, v := range load(t) {
		data := v.data(t)
		got, findings := validateFile(t, v, data)
		got.Findings = brief(findings)
		if diff := cmp.Diff(v.want(data), got); diff != "" {
			t.Errorf("%s: %s\n%s", v.Name, v.About, diff)
		}
		for rule := range rules(findings) {
			if rule == "" && !finding.Has(findings, finding.FindingsUnlisted) {
				t.Errorf("%s: a finding names no rule", v.Name)
			}
		}
		sides[v.Rule] = sides[v.Rule].seen(v.Outcome == "accepted", rules(findings)[v.Rule])
	}
	// Every rule has a vector that satisfies it and one that breaks it.
	for _, r := range finding.Rules() {
		s := sides[r.ID]
		if !s.kept || !s.broken && r.Code != "" || s.broken && r.Code == "" {
			t.Errorf("%s: a vector satisfies it: %v; a vector breaks it: %v", r.ID, s.kept, s.broken)
		}
	}
}

// A both records whether a vector of a rule satisfies it, and whether one breaks it.
type both struct{ kept, broken bool }

func (b both) seen(kept, broken bool) both { return both{b.kept || kept, b.broken || broken} }

var given = flag.String("program", "", "test this program instead of one built from the source")

func build(t *testing.T, program string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "../../cmd/p20export").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// The program returns the expected answer for every vector.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := *given
	if program == "" {
		program = filepath.Join(dir, "p20export")
		build(t, program)
	}
	type group struct{ kind, profile string }
	groups := make(map[group][]vector)
	for _, v := range load(t) {
		g := group{v.Kind, v.Profile}
		groups[g] = append(groups[g], v)
	}
	for g, list := range groups {
		args := []string{"validate", "--format", "json", "--kind", g.kind, "--profile", g.profile}
		malformed := false
		for i := range list {
			path := filepath.Join(dir, g.kind+g.profile+strconv.Itoa(i))
			if err := os.WriteFile(path, list[i].data(t), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
			malformed = malformed || list[i].Outcome == "malformed"
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if _, ok := err.(*exec.ExitError); err != nil && !ok || malformed != (cmd.ProcessState.ExitCode() == 1) {
			t.Fatalf("%v: %v", g, err)
		}
		rows := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
		if len(rows) != len(list) {
			t.Fatalf("%v: %d rows for %d files", g, len(rows), len(list))
		}
		for i, line := range rows {
			var row struct {
				Verdict   string            `json:"verdict"`
				Canonical bool              `json:"canonical"`
				Digest    string            `json:"digest"`
				Findings  []finding.Finding `json:"findings"`
				Rest      jsontext.Value    `json:",inline"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			v, data := list[i], list[i].data(t)
			got, want := answer{Verdict: row.Verdict, Canonical: row.Canonical, Findings: brief(row.Findings)}, v.want(data)
			want.Digest = "" // the program prints the digest of the file itself
			if diff := cmp.Diff(want, got); diff != "" || row.Digest != sum(data) {
				t.Errorf("fails: %s\n%s\n%s", v.Name, v.About, diff)
			}
		}
	}
}

// The JSON Schemas accept every accepted file, and refuse every file that breaks a rule
// that they can express. For rules that they express in part, they refuse some files.
func TestSchemas(t *testing.T) {
	t.Parallel()
	inexpressible, inPart := make(map[string]map[string]bool), make(map[string]int)
	for _, name := range schema.Names() {
		inexpressible[name] = make(map[string]bool)
		for _, u := range schema.Inexpressible(name) {
			for _, rule := range u.Rules {
				inexpressible[name][rule] = true
			}
		}
	}
	refused := 0
	for _, v := range load(t) {
		data := v.data(t)
		name, err := applySchema(v, data)
		if err != nil && !errors.Is(err, schematest.ErrRefused) && !errors.Is(err, schematest.ErrNotJSON) {
			t.Fatal(err)
		}
		_, findings := validateFile(t, v, data)
		expressible := false
		for rule := range rules(findings) {
			// If the line of an event cannot be read, the program also reports the event as missing.
			follows := rule == "E6" && strings.HasPrefix(v.Rule, "T")
			expressible = expressible || rule != "" && !inexpressible[name][rule] && !follows
		}
		switch {
		case v.Outcome == "accepted" && err != nil:
			t.Errorf("%s: %v", v.Name, err)
		case expressible && err == nil:
			t.Errorf("%s: the schema %s accepts it", v.Name, name)
		case expressible:
			refused++
		case err != nil:
			inPart[v.Rule]++
		}
	}
	if refused < 500 {
		t.Errorf("the schemas were applied to only %d malformed files", refused)
	}
	for _, rule := range []string{"A16", "A17", "P1", "P2", "P3", "P4", "P5", "P6"} {
		if inPart[rule] == 0 {
			t.Errorf("the schemas refuse no file that breaks %s", rule)
		}
	}
}

// applySchema applies the schema of its kind and profile to a file.
func applySchema(v vector, data []byte) (name string, err error) {
	switch {
	case v.Kind == "envelope":
		// The schema describes the events, with any white space between them.
		var events [][]byte
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
			if len(bytes.TrimSpace(line)) > 0 {
				events = append(events, bytes.TrimRight(line, "\r\n"))
			}
		}
		return schema.Envelope, schematest.CheckLines(schema.Envelope, bytes.Join(events, []byte("\n")))
	case v.Profile == "assay":
		return schema.ArtifactAssay, schematest.Check(schema.ArtifactAssay, data)
	}
	return schema.Artifact, schematest.Check(schema.Artifact, data)
}
