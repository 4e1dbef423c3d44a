package schema_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// The schema of logs accepts every line of an export, and refuses changed lines.
func TestLog(t *testing.T) {
	log := memory.New()
	path := testkit.WriteCapture(t, "run", testkit.Started, "no JSON", "\x00", testkit.Finished)
	if row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{}); row.Verdict != project.Written {
		t.Fatal(row.Findings)
	}
	if row := transfer.Import(t.Context(), log, inputs.File("../discovery/captures/adk/one-turn"), transfer.ImportSettings{}); row.Verdict != project.Written {
		t.Fatal(row.Findings)
	}
	signer, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	settings := seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{signer}}
	if _, err := settings.Seal(t.Context(), log, store.Key{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]int)
	for _, thread := range []string{"t", "thread-one-turn"} {
		var out bytes.Buffer
		if row := transfer.Export(t.Context(), log, store.Key{Thread: thread}, &out, 0); row.Verdict != project.Written {
			t.Fatal(row.Findings)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if err := schematest.Check(schema.Log, line); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			for _, key := range []string{"schema", "arrived", "json", "text", "base64", "seal", "digest"} {
				if bytes.Contains(line, []byte(`"`+key+`":`)) {
					keys[key]++
				}
			}
		}
	}
	if len(keys) != 7 {
		t.Errorf("the lines have only the keys %v", keys)
	}
	for line, changes := range map[string]map[string]string{
		`{"position":1,"stream":"s","kind":"event","text":"x"}`: {
			`"position":1`: `"position":0`, `"kind":"event"`: `"kind":"x"`, `"stream":"s"`: `"stream":""`, `,"text":"x"`: ``,
			`"text":"x"`: `"text":"x","json":1`, `"text"`: `"data"`, `"kind"`: `"arrived":"now","kind"`,
		},
		`{"seal":{"size":1,"checkpoint":"c","token":"AP8="}}`: {
			`"size":1`: `"size":0`, `"size":1,`: ``, `"c"`: `""`, `"checkpoint":"c",`: ``, `"AP8="`: `1`, `"token"`: `"x"`, `}}`: `},"x":1}`,
		},
	} {
		if err := schematest.Check(schema.Log, []byte(line)); err != nil {
			t.Fatal(err)
		}
		for from, to := range changes {
			if err := schematest.Check(schema.Log, []byte(strings.Replace(line, from, to, 1))); !isRefusal(err) {
				t.Errorf("%s with %s: %v", line, to, err)
			}
		}
	}
}
