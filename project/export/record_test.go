package export

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

const sample = "../../examples/ag-ui-compacted-message-snapshot-evidence/frozen/"

// A receipt repeats values of the record, and the record determines the allowed forms.
// An artifact with a contradictory record is refused in both forms.
func TestRecordsThatLie(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"failed", "finished"} {
		data, err := os.ReadFile(sample + name + ".artifact.json")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".artifact.json"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		of   string
		lie  func(p *record.Predicate)
		want finding.Code // in both forms; empty if it is exported
	}{
		"no lie":             {"finished", func(*record.Predicate) {}, ""},
		"built as emitted":   {"failed", func(p *record.Predicate) { p.Projection.Origin = project.Emitted }, finding.RecordMalformed},
		"no origin":          {"failed", func(p *record.Predicate) { p.Projection.Origin = "" }, finding.RecordMalformed},
		"another origin":     {"failed", func(p *record.Predicate) { p.Projection.Origin = "Built" }, finding.RecordMalformed},
		"emitted as built":   {"finished", func(p *record.Predicate) { p.Projection.Origin = project.Built }, finding.RecordMalformed},
		"unknown projection": {"failed", func(p *record.Predicate) { p.Projection.Name = "\x1b" }, finding.ProjectionUnknown},
		"unknown version":    {"failed", func(p *record.Predicate) { p.Projection.Version = 99 }, finding.ProjectionUnknown},
		"unknown profile":    {"finished", func(p *record.Predicate) { p.Profile = "zzz" }, finding.RecordMalformed},
		"unknown snapshot":   {"finished", func(p *record.Predicate) { p.Projection.Snapshot = "zzz" }, finding.RecordMalformed},
	} {
		record, err := record.Read(sample + c.of + ".record.json")
		if err != nil {
			t.Fatal(err)
		}
		c.lie(&record.Predicate)
		data, err := record.Encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, c.of+".record.json"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, receipt := range []bool{false, true} {
			var rows []Row
			events, err := Import(t.Context(), []string{filepath.Join(dir, c.of+".artifact.json")}, Settings{Run: testRun(), Receipt: receipt}, func(row Row) { rows = append(rows, row) })
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if events == nil || len(rows) > 0 {
					t.Errorf("%s: %+v", name, rows)
				} else {
					events.Close()
				}
				continue
			}
			var codes []finding.Code
			for _, row := range rows {
				for _, f := range row.Findings {
					codes = append(codes, f.Code)
				}
			}
			if diff := cmp.Diff([]finding.Code{c.want}, codes); diff != "" || events != nil {
				t.Errorf("%s, receipt %t: events %v (-want +got):\n%s", name, receipt, events, diff)
			}
		}
	}
}
