package artifact_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// checkProfiles compares FindingsByProfile, with the places of its findings, with Decode.
func checkProfiles(t rapid.TB, data []byte) {
	t.Helper()
	v1, assay := artifact.FindingsByProfile(data)
	for p, got := range map[artifact.Profile][]finding.Finding{artifact.V1: v1, artifact.Assay: assay} {
		finding.Locate(data, got)
		_, want := artifact.Decode(data, p)
		if !reflect.DeepEqual(append([]finding.Finding{}, want...), append([]finding.Finding{}, got...)) {
			t.Fatalf("%s: %v, want %v", p, got, want)
		}
	}
}

// TestFindingsByProfile tests files with more findings than are listed, and with findings
// under one profile or both.
func TestFindingsByProfile(t *testing.T) {
	message := func(id, content string) string {
		return fmt.Sprintf(`{"id":%q,"role":"user","content":%q}`, id, content)
	}
	long := strings.Repeat("x", 401)
	var many []string
	for i := range 150 {
		many = append(many, message(fmt.Sprint(i), long))
	}
	for _, messages := range []string{
		message("m1", "hi"),
		message("m1", long),
		message(long, long) + "," + message("m1", ""),
		message("m1", strings.Repeat("x", 262_145)),
		strings.Join(many, ","),
	} {
		checkProfiles(t, []byte(with(t, base, `{"id":"m1","role":"user","content":"hi"}`, messages)))
	}
}

// checkLaws checks the properties of Decode for any input.
func checkLaws(t rapid.TB, data []byte) {
	t.Helper()
	checkProfiles(t, data)
	accepted := make(map[artifact.Profile]bool)
	for _, p := range artifact.Profiles() {
		a, findings := artifact.Decode(data, p)
		accepted[p] = a != nil
		if finding.Failed(findings) != (a == nil) {
			t.Fatalf("%s: %q: artifact %v with %v", p, data, a, findings)
		}
		checkFindings(t, data, findings)
		if a == nil {
			continue
		}
		canonical := artifact.Encode(a)
		if len(canonical) > artifact.MaxFileBytes {
			continue // a file near the limit, written without white space
		}
		again, findings := artifact.Decode(canonical, p)
		if diff := cmp.Diff(a, again); diff != "" {
			t.Fatalf("%s: %q: its canonical bytes are another artifact: %v\n%s", p, data, findings, diff)
		}
		if !artifact.IsCanonical(canonical, again) || artifact.IsCanonical(data, a) != (string(data) == string(canonical)) {
			t.Fatalf("%s: %q: canonical is wrong", p, data)
		}
	}
	if accepted[artifact.Assay] && !accepted[artifact.V1] {
		t.Fatalf("%q: assay accepts what v1 refuses", data)
	}
}

// checkFindings checks that the findings are bounded, sorted except for the count of
// unlisted findings, and have offsets within the file.
func checkFindings(t rapid.TB, data []byte, findings []finding.Finding) {
	t.Helper()
	listed := findings
	if n := len(findings); n > 0 && findings[n-1].Code == finding.FindingsUnlisted {
		listed = findings[:n-1]
		if len(listed) != 100 {
			t.Fatalf("%d findings are listed before the count of the rest", len(listed))
		}
	}
	if len(listed) > 100 {
		t.Fatalf("%d findings are listed", len(listed))
	}
	sorted := slices.Clone(listed)
	finding.Sort(sorted)
	if diff := cmp.Diff(sorted, listed); diff != "" {
		t.Fatalf("%.300q: findings out of order:\n%s", data, diff)
	}
	for _, f := range listed {
		if f.Offset != nil && (*f.Offset < 0 || *f.Offset > int64(len(data)) || f.Line < 1) {
			t.Fatalf("%.300q: %+v is outside the file", data, f)
		}
		if len(f.Pointer) > 5_000 || len(f.Message) > 1_000 || f.Message != finding.Printable(f.Message) {
			t.Fatalf("%.300q: %+v is too long or unsafe", data, f)
		}
	}
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		base, failed, "", "{}", "[]", "null", base + "x",
		with(f, base, `"schema"`, `"state":{"events":[]},"schema"`),
		with(f, base, `"user"`, `"activity"`),
		with(f, base, `"m1"`, `"m1","toolCalls":[]`),
		with(f, base, `"hi"`, `"\ud83d\ude42","name":"\u00a0n"`),
		with(f, base, `"hi"`, `"\ud83d"`),
		with(f, base, `"t"`, `"https://x"`),
		with(f, base, `"messages"`, `"finished_at":"2026-01-01T00:00:00.5+00:01","messages"`),
		with(f, failed, `"boom"`, `"boom","error_code":" E "`),
		with(f, base, `[{`, `[{"id":"m1","role":"tool","content":"x"},{`),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkLaws(t, data) })
}

// validArtifact generates valid artifacts.
func validArtifact() *rapid.Generator[*artifact.Artifact] {
	instant := rapid.Map(rapid.Int64Range(1_700_000_000_000_000, 1_900_000_000_000_000), time.UnixMicro)
	zone := rapid.Map(rapid.IntRange(-23*60-59, 23*60+59), func(minutes int) *time.Location { return time.FixedZone("", 60*minutes) })
	layout := rapid.SampledFrom([]string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.0Z07:00", "2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000000Z07:00"})
	nonBlank := func(limit int) *rapid.Generator[string] {
		return rapid.StringN(0, limit, -1).Filter(func(s string) bool { return !artifact.IsBlank(s) })
	}
	ref := func(limit int) *rapid.Generator[string] {
		return nonBlank(limit).Filter(func(s string) bool {
			rule, _ := artifact.RefFault(s)
			return rule == ""
		})
	}
	label := func(limit int) *rapid.Generator[string] {
		return nonBlank(limit).Filter(func(s string) bool { return !artifact.HasControl(s) && artifact.IndexStackTrace(s) < 0 })
	}
	optional := func(t *rapid.T, g *rapid.Generator[string], name string) string {
		if rapid.Bool().Draw(t, "has "+name) {
			return g.Draw(t, name)
		}
		return ""
	}
	return rapid.Custom(func(t *rapid.T) *artifact.Artifact {
		a := artifact.New()
		a.ThreadIDRef, a.RunIDRef = ref(256).Draw(t, "thread"), ref(256).Draw(t, "run")
		a.ParentRunIDRef = optional(t, ref(256), "parent")
		started := instant.Draw(t, "started")
		a.StartedAt = started.In(zone.Draw(t, "zone")).Format(layout.Draw(t, "layout"))
		if rapid.Bool().Draw(t, "has finished") {
			finished := started.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "took")))
			a.FinishedAt = finished.In(zone.Draw(t, "zone")).Format("2006-01-02T15:04:05.000000Z07:00")
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "messages") {
			a.Messages = append(a.Messages, artifact.Message{
				ID:      rapid.StringN(0, 250, -1).Draw(t, "id") + strconv.Itoa(i),
				Role:    rapid.SampledFrom(artifact.Roles()).Draw(t, "role"),
				Content: nonBlank(1_000).Draw(t, "content"),
				Name:    optional(t, nonBlank(128), "name"),
			})
		}
		a.TerminalEvent = rapid.SampledFrom([]string{artifact.RunFinished, artifact.RunError}).Draw(t, "terminal")
		if a.TerminalEvent == artifact.RunError {
			a.ErrorMessage, a.ErrorCode = label(1_024).Draw(t, "message"), optional(t, label(128), "code")
		}
		return a
	})
}

func TestValidArtifacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := validArtifact().Draw(t, "artifact")
		data := artifact.Encode(want)
		got, findings := artifact.Decode(data, artifact.V1)
		if diff := cmp.Diff(want, got); diff != "" || findings != nil {
			t.Fatalf("%s\n%v\n%s", data, findings, diff)
		}
		checkLaws(t, data)
	})
}

// Decode has the same properties for a valid artifact with one byte changed, removed or
// added.
func TestDamagedArtifacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := artifact.Encode(validArtifact().Draw(t, "artifact"))
		i := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		c := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(`"\{}[]:,0 `))).Draw(t, "byte")
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			data[i] = c
		case 1:
			data = slices.Delete(data, i, i+1)
		case 2:
			data = slices.Insert(data, i, c)
		}
		checkLaws(t, data)
	})
}
