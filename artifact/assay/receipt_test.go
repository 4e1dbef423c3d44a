package assay

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
)

// receipts returns the receipts in testdata, each of the artifact valid.ag-ui.json, and
// the event of version 1, which is no longer written.
func receipts(t testing.TB) map[string]Event {
	t.Helper()
	a := decoded(t, "valid.ag-ui.json")
	plain := Receipt{
		ArtifactRef: "valid.ag-ui.json", ArtifactDigest: digest.Of(read(t, "valid.ag-ui.json")), RecordDigest: digest.Of([]byte("record")),
		Reducer: "folded-stream@4", Origin: "built", ImportedAt: sampleRun().Time,
	}
	signed := plain
	signed.KeyIDs, signed.NotLaterThan = []string{digest.Of([]byte("a")).Hex(), digest.Of([]byte("b")).Hex()}, "2026-04-14T20:10:00.000001Z"
	var v1 struct {
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(read(t, "receipts/v1.ndjson"), &v1); err != nil {
		t.Fatal(err)
	}
	return map[string]Event{"v1": {ReceiptType, v1.Data}, "v2": plain.Event(a), "v2-signed": signed.Event(a)}
}

// The receipts have the committed bytes, whose members are in canonical order, and bundles of
// all versions verify without deviations.
func TestReceipts(t *testing.T) {
	var all []Event
	for name, e := range receipts(t) {
		run := sampleRun()
		if name == "v1" {
			run.ID = "import-ag-ui-failed.artifact"
			run.Time = "2026-11-21T12:00:00Z"
		}
		if diff := cmp.Diff(string(read(t, "receipts/"+name+".ndjson")), string(e.AppendLine(nil, run, 0))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		canonical := jsontext.Value(bytes.Clone(e.Data))
		if err := canonical.Canonicalize(); err != nil || !bytes.Equal(canonical, e.Data) {
			t.Errorf("%s: %v, the canonical form is %s", name, err, canonical)
		}
		all = append(all, e)
	}
	v, err := Verify(bytes.NewReader(bundled(t, sampleRun(), all...)), Options{Strict: true})
	if err != nil || v.Events != len(all) || len(v.Deviations) > 0 {
		t.Errorf("%v, %+v", err, v)
	}
}
