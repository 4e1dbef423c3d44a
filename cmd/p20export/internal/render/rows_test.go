package render

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/render/rows"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/internal/diff"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/export"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/validate"
	"github.com/p20export/p20export/project/verify"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// encoding/json encodes rows to the same JSON, so importers of the packages do not need this
// program's encoder. With their types, the rows match the schema.
func TestRowsThroughEncodingJSON(t *testing.T) {
	captures, err := filepath.Glob("../../../../discovery/captures/*/*")
	if err != nil || len(captures) < 100 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	ctx := context.Background()
	rows := 0
	check := func(row any) {
		t.Helper()
		rows++
		want, err := json.Marshal(row, json.Deterministic(true), json.FormatNilMapAsNull(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		e := stdjson.NewEncoder(&got)
		e.SetEscapeHTML(false)
		if err := e.Encode(row); err != nil {
			t.Fatal(err)
		}
		if text := bytes.TrimSpace(got.Bytes()); !bytes.Equal(text, want) {
			at := diff.FirstDifference(text, want)
			t.Errorf("%T: encoding/json has %.60s where the row has %.60s", row, text[max(0, at-30):], want[max(0, at-30):])
		}
		switch row.(type) {
		case *baseline.Baseline: // not a row
			return
		case analysis.Run, scan.Inspection, freeze.Row: // tested by cmd/p20export with all captures
			return
		}
		var buf bytes.Buffer
		head, err := encodeRow(&buf, row)
		whole := append([]byte(head), bytes.TrimPrefix(buf.Bytes(), []byte("{"))...)
		if err == nil {
			err = schematest.Check(schema.Rows, whole)
		}
		if err != nil {
			t.Errorf("%T: %v\n%s", row, err, whole)
		}
	}
	all := func(list ...any) {
		for _, row := range list {
			check(row)
		}
	}
	tool := record.Tool{Name: "p20export", Version: "0"}
	var runs []analysis.Run
	for i, path := range append(captures, "nowhere") {
		analyzed := analysis.Analyze(ctx, path, artifact.V1, nil)
		runs = append(runs, analyzed...)
		for _, row := range analyzed {
			check(row)
		}
		for _, row := range scan.Inspect(ctx, inputs.File(path), nil) {
			check(row)
		}
		for _, name := range project.Names() {
			out := t.TempDir()
			frozen, err := freeze.Freeze(ctx, path, freeze.Settings{Settings: project.Settings{Projection: name}, Dir: out, Tool: tool})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range frozen {
				check(row)
				if row.Artifact != nil && i%10 == 0 {
					all(verify.File(ctx, *row.Artifact, *row.Record, path, nil, nil), validate.File(ctx, *row.Artifact, artifact.V1, ""), validate.File(ctx, *row.Record, artifact.V1, ""))
					for row := range verify.Tree(ctx, out, verify.TreeSettings{}) {
						check(row)
					}
					run := assay.Run{ID: "run", Time: assay.FormatTime(time.Unix(0, 0)), Producer: assay.SampleProducer()}
					events, err := export.Import(ctx, []string{*row.Artifact, "nowhere"}, export.Settings{Run: run}, func(row export.Row) { check(row) })
					if err != nil || events != nil {
						t.Fatalf("%v, %v", events, err)
					}
				}
			}
		}
		if i%20 == 0 {
			made, err := report.Write(ctx, []string{path}, report.Settings{Tool: tool, Out: filepath.Join(t.TempDir(), "page.html")})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range made {
				check(row)
			}
		}
	}
	base, err := baseline.New(runs[:40], artifact.V1)
	if err != nil {
		base, err = baseline.New(runs[:10], artifact.V1)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range base.Compare(analysis.Analyze(ctx, captures[0], artifact.V1, nil)) {
		check(row)
	}
	list := &scenario.Plan{Scenarios: []scenario.Scenario{{Name: "a", Request: []byte("{}")}}, Suite: &scenario.Suite{Cases: []scenario.Case{{Name: "a", Note: "It cannot."}}}}
	for row := range list.Run(ctx) {
		check(newScenarioRow(row))
	}
	const frozen = "../../../../examples/ag-ui-compacted-message-snapshot-evidence/frozen/"
	all(difference.CompareFiles(ctx, frozen+"finished.artifact.json", frozen+"failed.artifact.json"), difference.CompareFiles(ctx, frozen+"finished.artifact.json", "nowhere"))
	all(base, gateRow{gate.Evaluate(runs, nil, artifact.V1)}, Version{Name: "p20export"}, export.VerifyBundle(ctx, "nowhere", false, nil), NewFailedOutput("x", fs.ErrExist))
	if rows < 1000 {
		t.Errorf("only %d rows", rows)
	}
}

// Every Go type of a row has one row type, and the reverse.
func TestRowTypes(t *testing.T) {
	names, types := map[string]bool{}, map[reflect.Type]bool{}
	for _, of := range RowTypes() {
		if !regexp.MustCompile("^[a-z]+(_[a-z]+)*$").MatchString(of.Name) || of.About == "" {
			t.Errorf("%+v", of)
		}
		if names[of.Name] || types[of.Of] {
			t.Errorf("%s or its Go type %s is listed twice", of.Name, of.Of)
		}
		names[of.Name], types[of.Of] = true, true
		var buf bytes.Buffer
		head, err := encodeRow(&buf, reflect.Zero(of.Of).Interface())
		if err != nil || head != `{"type":"`+of.Name+`",` || !bytes.HasPrefix(buf.Bytes(), []byte(`{"`)) {
			t.Errorf("%s: %s%s, %v", of.Name, head, buf.String(), err)
		}
	}
	p := New(io.Discard, JSON, record.Tool{})
	p.json(struct{ Key int }{1})
	if err := p.Close(nil); !errors.Is(err, ErrOutput) {
		t.Errorf("a row that is not listed was written: %v", err)
	}
}

// encodeRow encodes a row as the commands do.
func encodeRow(buf *bytes.Buffer, row any) (head string, err error) {
	name, err := typeName(row)
	if err != nil {
		return "", err
	}
	return rows.Encode(buf, name, row)
}
