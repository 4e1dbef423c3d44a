package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

// The header of a run says whether its record verifies, and what its signature is worth. A
// redacted page does not name the signer.
func TestRecords(t *testing.T) {
	path := testkit.WriteCapture(t, "run", testkit.Started, testkit.Snapshot, testkit.Finished)
	frozen := t.TempDir()
	rows, err := freeze.Freeze(t.Context(), path, freeze.Settings{Dir: frozen})
	if err != nil || len(rows) != 1 || rows[0].Record == nil {
		t.Fatalf("%v, %+v", err, rows)
	}
	stated, err := record.Read(*rows[0].Record)
	if err != nil {
		t.Fatal(err)
	}
	signed := &sign.Signature{State: sign.IsSigned, Signers: []sign.Signatory{{Name: "release key"}}, NotLaterThan: new("2026-11-28T12:00:00Z")}
	for _, c := range []struct {
		records Frozen
		redact  Redaction
		want    string
	}{
		{nil, RedactNone, ""},
		{Frozen{}, RedactNone, "none was found"},
		{Frozen{stated.Predicate.Capture: {{"a/run.record.json", "verified", nil}}}, RedactNone, "run.record.json · verified"},
		{Frozen{stated.Predicate.Capture: {{"a/run.record.json", "verified", signed}}}, RedactNone, "run.record.json · verified · signed by release key · not later than 2026-11-28T12:00:00Z"},
		{Frozen{stated.Predicate.Capture: {{"a/run.record.json", "verified", signed}}}, RedactText, "run.record.json · verified · signed · not later than 2026-11-28T12:00:00Z"},
		{Frozen{stated.Predicate.Capture: {{"a/run.record.json", "broken", &sign.Signature{State: sign.IsBroken}}}}, RedactNone, "run.record.json · broken · broken"},
	} {
		out := filepath.Join(t.TempDir(), "page.html")
		if _, err := Write(t.Context(), []string{path}, Settings{Out: out, Frozen: c.records, Redact: c.redact}); err != nil {
			t.Fatal(err)
		}
		page := string(testkit.Read(t, out))
		_, after, found := strings.Cut(page, "<dt>Record</dt>")
		got, _, _ := strings.Cut(after, "</dd>")
		if found != (c.want != "") || found && !strings.HasSuffix(strings.TrimSpace(got), ">"+c.want) {
			t.Errorf("the page says %q, want %q", got, c.want)
		}
	}
}
