package assay

import (
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

func TestCheckRunID(t *testing.T) {
	for _, id := range []string{"a", "import-ag-ui-valid.ag-ui", "é 1", ".", strings.Repeat("😀", 256)} {
		if err := CheckRunID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for id, want := range map[string]string{
		"":                       "blank",
		" \t":                    "blank",
		"a:b":                    "colon",
		"a/b":                    `"/"`,
		"a..b":                   `".."`,
		"a\nb":                   "control character",
		"a\u0085b":               "control character",
		"a\xff":                  "UTF-8",
		strings.Repeat("é", 257): "256 code points",
	} {
		if err := CheckRunID(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", id, err, want)
		}
	}
}

// With any valid names, the rest of an event line fits in the bytes that the Assay
// profile reserves (rule P7 of the contract).
func TestAroundArtifact(t *testing.T) {
	const left = 4096
	a := decoded(t, "valid.ag-ui.json")
	a.StartedAt = "2026-04-14T20:00:00.123456Z"
	name := strings.Repeat("😀", maxName)
	long := strings.Repeat("x", 64)
	run := Run{ID: name, Time: "2026-04-14T20:00:00.123456Z", Producer: Producer{"p20export", long, long}}
	ref := strings.Repeat("\u20ac", maxRef/3)
	if err := CheckArtifactRef(ref); err != nil {
		t.Error(err)
	}
	if err := CheckArtifactRef(strings.Repeat("😀", 192)); err == nil {
		t.Errorf("a name of 768 bytes is accepted")
	}
	r := Receipt{ArtifactRef: ref, ArtifactDigest: digest.Of(nil), RecordDigest: digest.Of(nil), Reducer: long, Origin: "emitted", ImportedAt: run.Time}
	for _, e := range []Event{Placeholder(a), r.Event(a)} {
		around := LineLen(e.Type, len(e.Data), run, MaxEvents) - len(observed(nil, a))
		if around > left {
			t.Errorf("%s: %d bytes surround the artifact; %d are reserved", e.Type, around, left)
		}
	}
	if artifact.MaxEventData != MaxLineBytes-left {
		t.Errorf("the profile allows %d bytes for the artifact", artifact.MaxEventData)
	}
}
