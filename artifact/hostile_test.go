package artifact_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// allocated returns the total number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The number of findings and the allocated memory are bounded for hostile files. It is not
// parallel, because it measures the memory of the process.
func TestHostileFiles(t *testing.T) {
	const mib = 1 << 20
	fill := func(before, member, after string) string {
		n := (artifact.MaxFileBytes - len(before) - len(after)) / len(member)
		return before + strings.Repeat(member, n) + after
	}
	var unique strings.Builder
	unique.WriteByte('{')
	for i := 0; unique.Len() < artifact.MaxFileBytes-20; i++ {
		fmt.Fprintf(&unique, `"%x":0,`, i)
	}
	unique.WriteString(`"z":0}`)
	for _, tt := range []struct {
		name, text string
		first      finding.Code // first finding
		last       finding.Code
		most       uint64 // bytes allocated
	}{
		{"too large", strings.Repeat("{", artifact.MaxFileBytes+1), finding.TooLarge, finding.TooLarge, mib},
		{"200,000 brackets", strings.Repeat("[", 200_000), finding.NotObject, finding.JSONTooDeep, mib},
		{"200,000 objects", strings.Repeat(`{"a":`, 200_000), finding.KeyUnknown, finding.JSONTooDeep, mib},
		{"a name again and again", fill(`{"":0`, `,"":0`, "}"), finding.KeyMissing, finding.FindingsUnlisted, 280 * mib},
		{"nothing but other names", unique.String(), finding.KeyMissing, finding.FindingsUnlisted, 200 * mib},
		{"a million families", fill(`{"x":[`, `{"raw":0},`, `0]}`), finding.KeyMissing, finding.FindingsUnlisted, 80 * mib},
		// Each finding would have a pointer of 4 MiB.
		{"below a long name", `{"` + strings.Repeat("n", 4*mib) + `":[` + strings.Repeat(`{"raw":0},`, 300_000) + `0]}`, finding.KeyMissing, finding.FindingsUnlisted, 32 * mib},
		{"a million messages", with(t, base, `{"id":"m1","role":"user","content":"hi"}`, strings.Repeat(`{},`, 1_000_000)+"{}"), finding.MessagesTooMany, finding.FindingsUnlisted, 4 * mib},
		{"a million numbers for messages", with(t, base, `{"id":"m1","role":"user","content":"hi"}`, strings.Repeat(`0,`, 1_000_000)+"0"), finding.MessagesTooMany, finding.FindingsUnlisted, 4 * mib},
		{"a long string", with(t, base, `"hi"`, `"`+strings.Repeat("x", 7*mib)+`"`), finding.TooLong, finding.TooLong, 16 * mib},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := []byte(tt.text)
			var a *artifact.Artifact
			var findings []finding.Finding
			if n := allocated(func() { a, findings = artifact.Decode(data, artifact.V1) }); n > tt.most {
				t.Errorf("%d MiB allocated, more than %d", n/mib, tt.most/mib)
			}
			if a != nil || len(findings) == 0 || len(findings) > 101 {
				t.Fatalf("accepted %v with %d findings", a != nil, len(findings))
			}
			if first, last := findings[0].Code, findings[len(findings)-1].Code; first != tt.first || last != tt.last {
				t.Errorf("the findings go from %s to %s, want %s to %s", first, last, tt.first, tt.last)
			}
			checkFindings(t, data, findings)
			size := 0
			for _, f := range findings {
				size += len(f.Message) + len(f.Pointer)
			}
			if size > mib {
				t.Errorf("the findings need %d bytes", size)
			}
		})
	}
}

// Findings from the 101st on are counted, and the count is correct.
func TestFindingsAreCounted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 99, 100, 101, 102, 1_000_000} {
		// The key, and each name after the first.
		text := with(t, base, `"schema"`, `"x":{"":0`+strings.Repeat(`,"":0`, n-1)+`},"schema"`)
		_, findings := artifact.Decode([]byte(text), artifact.V1)
		last := findings[len(findings)-1]
		if n <= 100 {
			if len(findings) != n || last.Code == finding.FindingsUnlisted {
				t.Errorf("%d findings: %d are listed, the last is %+v", n, len(findings), last)
			}
			continue
		}
		if len(findings) != 101 || last.Code != finding.FindingsUnlisted || last.Severity != finding.Info || last.Message != fmt.Sprintf("%d more findings are not listed", n-100) {
			t.Errorf("%d findings: %d are listed, the last is %+v", n, len(findings), last)
		}
	}
}
