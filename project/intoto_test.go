package project_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

// errSubject reports a statement whose subjects differ from the files beside it.
var errSubject = errors.New("subject")

// readStatement reads a record with the in-toto library, without code of this
// program, and compares its subjects with the files in dir.
func readStatement(record []byte, dir string) (*intoto.Statement, error) {
	st := new(intoto.Statement)
	if err := protojson.Unmarshal(record, st); err != nil {
		return nil, err
	}
	if err := st.Validate(); err != nil {
		return nil, err
	}
	for _, s := range st.GetSubject() {
		data, err := os.ReadFile(filepath.Join(dir, s.GetName()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		if want := map[string]string{"sha256": hex.EncodeToString(sum[:])}; !cmp.Equal(want, s.GetDigest()) {
			return nil, fmt.Errorf("%w %s has the digest %v, stated is %v", errSubject, s.GetName(), want, s.GetDigest())
		}
	}
	return st, nil
}

// frozenRecords freezes a capture by one projection and returns its records.
func frozenRecords(t *testing.T, capture, dir string, s project.Settings) []string {
	t.Helper()
	rows, err := freeze.Freeze(context.Background(), capture, freeze.Settings{Settings: s, Dir: dir, Tool: record.Tool{Name: record.ToolName, Version: "0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for _, row := range rows {
		if row.Verdict == project.Frozen {
			records = append(records, *row.Record)
		}
	}
	return records
}

// The in-toto attestation library accepts the record of every run of every committed
// capture as a Statement v1. The subjects match the files on disk, and the predicate
// is complete.
func TestRecordsAreInTotoStatements(t *testing.T) {
	t.Parallel()
	captures, err := filepath.Glob("../discovery/captures/*/*/capture.json")
	if err != nil || len(captures) == 0 {
		t.Fatalf("no committed captures: %v", err)
	}
	read := 0
	for _, manifest := range captures {
		capture := filepath.Dir(manifest)
		t.Run(filepath.Base(filepath.Dir(capture))+"/"+filepath.Base(capture), func(t *testing.T) {
			for _, s := range []project.Settings{
				{Projection: project.EmittedSnapshot},
				{Projection: project.EmittedSnapshotText, Snapshot: project.Last},
				{Projection: project.FoldedStream},
			} {
				dir := t.TempDir()
				for _, path := range frozenRecords(t, capture, dir, s) {
					checkStatement(t, path, dir, s)
					read++
				}
			}
		})
	}
	if read < 15 { // some captures have no run, or every projection refuses it
		t.Errorf("only %d records of %d captures were read", read, len(captures))
	}
}

func checkStatement(t *testing.T, path, dir string, s project.Settings) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := readStatement(data, dir)
	if err != nil {
		t.Fatalf("%s: %v", s.Projection, err)
	}
	var names []string
	for _, subject := range st.GetSubject() {
		names = append(names, subject.GetName())
	}
	name := strings.TrimSuffix(filepath.Base(path), ".record.json")
	if diff := cmp.Diff([]string{name + ".artifact.json", name + ".envelope.ndjson"}, names); diff != "" {
		t.Errorf("%s: subjects (-want +got):\n%s", s.Projection, diff)
	}
	if st.GetType() != intoto.StatementTypeUri || st.GetPredicateType() != record.PredicateType {
		t.Errorf("%s: _type %q, predicateType %q", s.Projection, st.GetType(), st.GetPredicateType())
	}
	var written struct{ Predicate map[string]any }
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written.Predicate, st.GetPredicate().AsMap()); diff != "" {
		t.Errorf("%s: predicate (-written +read):\n%s", s.Projection, diff)
	}
	if got := st.GetPredicate().GetFields()["projection"].GetStructValue().GetFields()["name"].GetStringValue(); got != string(s.Projection) {
		t.Errorf("the predicate names projection %q, want %q", got, s.Projection)
	}
}

// A damaged record is detected: the library refuses it, or its subjects do not match
// the files.
func TestDamagedRecordIsNoStatement(t *testing.T) {
	dir := t.TempDir()
	records := frozenRecords(t, "../discovery/captures/adk/one-turn", dir, project.Settings{Projection: project.EmittedSnapshot})
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	good, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readStatement(good, dir); err != nil {
		t.Fatal(err)
	}
	var r record.Record
	if err := json.Unmarshal(good, &r); err != nil {
		t.Fatal(err)
	}
	sum := r.Subject[0].Digest.SHA256
	other := "0" + sum[1:]
	if other == sum {
		other = "1" + sum[1:]
	}
	for name, tt := range map[string]struct {
		old, new string
		want     error // nil for an error of the JSON reader
	}{
		"type":           {record.StatementType, "https://in-toto.io/Link/v1", intoto.ErrInvalidStatementType},
		"predicate type": {record.PredicateType, "", intoto.ErrPredicateTypeRequired},
		"no predicate":   {`"predicate":`, `"subject":`, nil},
		"no subject": {string(between(good, `"subject": `, `,
  "predicateType"`)), "[]", intoto.ErrSubjectRequired},
		"short digest":       {sum, sum[2:], intoto.ErrIncorrectDigestLength},
		"digest not hex":     {sum, "zz" + sum[2:], intoto.ErrInvalidDigestEncoding},
		"other digest":       {sum, other, errSubject},
		"name of another":    {"one-turn.artifact.json", "one-turn.envelope.ndjson", errSubject},
		"file not there":     {"one-turn.artifact.json", "two-turn.artifact.json", os.ErrNotExist},
		"digest as text":     {`"digest": {`, `"digest": "", "x": {`, nil},
		"unknown key":        {`"_type"`, `"_kind"`, nil},
		"cut":                {"\n}\n", "\n", nil},
		"bytes that are not": {`"v1"`, "\"\xff\"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			bad := bytes.Replace(good, []byte(tt.old), []byte(tt.new), 1)
			if bytes.Equal(bad, good) {
				t.Fatalf("%q is not in the record", tt.old)
			}
			_, err := readStatement(bad, dir)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// between returns the text between two texts.
func between(data []byte, after, before string) []byte {
	_, rest, _ := bytes.Cut(data, []byte(after))
	inner, _, _ := bytes.Cut(rest, []byte(before))
	return inner
}
