package verify

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

// A list of findings is returned unchanged, from memory and from the file.
func TestShelf(t *testing.T) {
	full := finding.New(finding.ArtifactDiffers, "message").WithOffset(0).WithEvent(0).WithPointer("/a~1b").WithResponseLine(7)
	full.Rule, full.Line, full.Column, full.Excerpt = "C1", 2, 3, finding.Excerpt{Text: "line", At: 1}
	lists := [][]finding.Finding{{full, finding.New(finding.EnvelopeAbsent, "é \x00")}, {finding.New(finding.RecordDiffers, "")}, {full, full, full}}
	for most := range 8 {
		t.Setenv("TMPDIR", t.TempDir())
		s := &findingStore{limit: most}
		var put []*storedFindings
		away := 0
		for _, list := range lists {
			one := s.add(slices.Clone(list))
			if one.inSpool {
				away++
			}
			put = append(put, one)
		}
		if most == 0 && away != len(lists) || most >= 6 && away != 0 {
			t.Errorf("with room for %d findings %d lists of %d went to the file", most, away, len(lists))
		}
		for i, one := range slices.Backward(put) {
			if got, err := s.get(one); err != nil || !cmp.Equal(got, lists[i]) {
				t.Errorf("with room for %d findings, list %d: %v %s", most, i, err, cmp.Diff(lists[i], got))
			}
		}
		for _, one := range put {
			s.release(one)
		}
		if s.count != 0 {
			t.Errorf("with room for %d findings, %d are held when all were taken", most, s.count)
		}
		s.close()
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}

// The rows of a directory do not depend on how many findings are kept in memory. If
// the temporary file cannot be created, the rows report the error.
func TestVerifyTreeShelf(t *testing.T) {
	dir := evidence(t, "model-error", project.FoldedStream)
	stated := filepath.Join(dir, "frozen", "model-error"+record.Suffix)
	data, err := os.ReadFile(stated)
	if err != nil {
		t.Fatal(err)
	}
	artifact := strings.TrimSuffix(stated, record.Suffix) + record.ArtifactSuffix
	testkit.Write(t, artifact, "{}")
	for i := range 3 {
		other := filepath.Join(dir, "frozen", "other-"+strconv.Itoa(i))
		testkit.Write(t, other+record.Suffix, strings.ReplaceAll(string(data), "model-error.", filepath.Base(other)+"."))
		testkit.Write(t, other+record.ArtifactSuffix, "[]")
	}
	want := treeRows(dir, TreeSettings{})
	if len(want) != 4 || len(want[0].Findings) == 0 {
		t.Fatalf("the directory has %d rows, %v", len(want), outline(dir, want))
	}
	for most := range 8 {
		if diff := cmp.Diff(want, shelfRows(dir, most)); diff != "" {
			t.Errorf("with %d findings in memory (-want +got):\n%s", most, diff)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	for _, row := range shelfRows(dir, 0) {
		if row.Verdict == project.Verified || !slices.ContainsFunc(row.Findings, func(f finding.Finding) bool {
			return f.Code == finding.IOFailed && strings.Contains(f.Hint, "TMPDIR")
		}) {
			t.Errorf("without a place for the findings: %v", outline(dir, []TreeRow{row}))
		}
	}
}

// shelfRows verifies a directory with a limit for the findings in memory.
func shelfRows(dir string, most int) []TreeRow {
	return slices.Collect(verifyTree(context.Background(), dir, TreeSettings{}, limits{entries: MaxEntries, findings: most}))
}

// Any number of records of one run can each select another snapshot. This requires
// several readings.
func TestVerifyTreeSnapshots(t *testing.T) {
	const records = 3*maxSnapshots + 1
	dir := t.TempDir()
	var capture strings.Builder
	event := func(s string) { capture.WriteString("data: " + s + "\n\n") }
	event(`{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1769860800000}`)
	for i := range records {
		event(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":"` + strconv.Itoa(i) + `"}]}`)
	}
	event(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1769860801000}`)
	raw := filepath.Join(dir, "run.sse")
	testkit.Write(t, raw, capture.String())
	for i := range records {
		out := filepath.Join(dir, strconv.Itoa(i))
		rows, err := freeze.Freeze(context.Background(), raw, freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Selection(strconv.Itoa(i + 1))}, Dir: out, Tool: testTool})
		if err != nil || len(rows) != 1 || rows[0].Verdict != project.Frozen {
			t.Fatalf("freeze: %v %+v", err, rows)
		}
	}
	rows := treeRows(dir, TreeSettings{Strict: true})
	for _, row := range rows {
		if row.Verdict != project.Verified {
			t.Errorf("%v", outline(dir, []TreeRow{row}))
		}
	}
	if len(rows) != records {
		t.Errorf("%d rows of %d records", len(rows), records)
	}
}

// One reading suffices for all settings of a run, except that it keeps a limited number
// of snapshots.
func TestTogether(t *testing.T) {
	claims := func(run int, p project.Name, snapshots int) (list []*claim) {
		for i := range snapshots {
			one := &claim{settings: project.Settings{Projection: p, Snapshot: project.Selection(strconv.Itoa(i + 1))}}
			one.source.Run = run
			list = append(list, one)
		}
		return list
	}
	first, second := claims(1, project.EmittedSnapshot, 2*maxSnapshots+1), claims(2, project.EmittedSnapshotText, maxSnapshots)
	folded := claims(1, project.FoldedStream, 3*maxSnapshots)
	again := claims(1, project.EmittedSnapshotText, maxSnapshots)
	rest := slices.Concat(first, second, folded, again)
	var readings [][]*claim
	for len(rest) > 0 {
		var now []*claim
		now, rest = splitBySnapshots(rest)
		if len(now) == 0 {
			t.Fatal("a reading serves nobody")
		}
		readings = append(readings, now)
	}
	same := func(a, b *claim) bool { return a == b }
	want := [][]*claim{slices.Concat(first[:maxSnapshots], second, folded, again), first[maxSnapshots : 2*maxSnapshots], first[2*maxSnapshots:]}
	if len(readings) != len(want) {
		t.Fatalf("%d readings, want %d", len(readings), len(want))
	}
	for i := range want {
		if !slices.EqualFunc(readings[i], want[i], same) {
			t.Errorf("reading %d serves %d claims, want %d others", i, len(readings[i]), len(want[i]))
		}
	}
}
