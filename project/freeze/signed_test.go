package freeze_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/sign"
)

func newKey(t *testing.T, of sign.KeyType) *sign.PrivateKey {
	t.Helper()
	key, err := sign.NewPrivateKey(of)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The texts of signed runs are those of the files, for any number of jobs. Signatures of
// Ed25519 are deterministic.
func TestInlineSigned(t *testing.T) {
	s := freeze.Settings{
		Settings: project.Settings{Projection: project.EmittedSnapshotText},
		Dir:      t.TempDir(),
		Sign:     &sign.Settings{Signers: []sign.Signer{newKey(t, sign.Ed25519)}},
	}
	want, signed := batch(t, all(t, captures), s, freeze.BatchOptions{}), 0
	for _, jobs := range []int{1, 3} {
		got := batch(t, all(t, captures), s, freeze.BatchOptions{Jobs: jobs, Inline: true})
		for i, rows := range want {
			for j, row := range rows {
				inline := got[i][j]
				for _, one := range []struct{ path, text *string }{
					{row.Artifact, inline.ArtifactJSON}, {row.Envelope, inline.EnvelopeNDJSON}, {row.Record, inline.RecordJSON}, {row.Signature, inline.SignatureJSON},
				} {
					switch {
					case row.Verdict != project.Frozen:
						if one.text != nil {
							t.Errorf("%s has a text", row.Capture)
						}
					case one.text == nil || *one.text != string(testkit.Read(t, *one.path)):
						t.Errorf("%s: another text inline", *one.path)
					default:
						signed++
					}
				}
				row.Artifact, row.Envelope, row.Record, row.Signature = nil, nil, nil, nil
				inline.ArtifactJSON, inline.EnvelopeNDJSON, inline.RecordJSON, inline.SignatureJSON = nil, nil, nil, nil
				if diff := cmp.Diff(row, inline); diff != "" {
					t.Errorf("%s (-files +inline)\n%s", row.Capture, diff)
				}
			}
		}
	}
	if signed < 100 {
		t.Errorf("%d texts", signed)
	}
}

// faulty signs all messages but those that contain a text.
type faulty struct {
	*sign.PrivateKey
	text string
	fail func() error
}

func (f faulty) Sign(ctx context.Context, message []byte) ([]byte, error) {
	if bytes.Contains(message, []byte(f.text)) {
		return nil, f.fail()
	}
	return f.PrivateKey.Sign(ctx, message)
}

// A run whose record cannot be signed has the row that it has with files, and no texts. It
// does not affect other runs of the capture.
func TestInlineSignerFails(t *testing.T) {
	path := testkit.WriteCapture(t, "two", testkit.Started, testkit.Message, testkit.Snapshot, testkit.Finished,
		strings.Replace(testkit.Started, `"r"`, `"s"`, 1), testkit.Message, testkit.Snapshot, strings.Replace(testkit.Finished, `"r"`, `"s"`, 1))
	key := newKey(t, sign.ECDSAP256)
	s := freeze.Settings{Dir: t.TempDir(), Sign: &sign.Settings{Signers: []sign.Signer{key, faulty{newKey(t, sign.Ed25519), "two.1.artifact.json", func() error {
		return finding.New(finding.SignerFailed, "not this one")
	}}}}}
	files := batch(t, all(t, path), s, freeze.BatchOptions{})[0]
	inline := batch(t, all(t, path), s, freeze.BatchOptions{Inline: true})[0]
	if diff := cmp.Diff(files[0], inline[0]); diff != "" || inline[0].Verdict != project.Failed || !finding.Has(inline[0].Findings, finding.SignerFailed) {
		t.Errorf("%+v (-files +inline)\n%s", inline[0], diff)
	}
	if inline[1].Verdict != project.Frozen || inline[1].SignatureJSON == nil {
		t.Fatalf("%+v", inline[1])
	}
	e, err := sign.Decode([]byte(*inline[1].SignatureJSON))
	if err != nil || len(e.Signatures) != 2 || string(e.Payload) != *inline[1].RecordJSON {
		t.Errorf("%+v, %v", e, err)
	}
}

// The end of the context while a record is signed interrupts the capture, which is the last.
func TestInlineSignerInterrupted(t *testing.T) {
	_, paths := responses(t, 20)
	key := newKey(t, sign.Ed25519)
	for _, jobs := range []int{1, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		signer := faulty{key, "c0003.artifact.json", func() error {
			cancel()
			return context.Cause(ctx)
		}}
		rows, err := freeze.Batch(ctx, all(t, paths...), freeze.Settings{Tool: tool, Sign: &sign.Settings{Signers: []sign.Signer{signer}}}, freeze.BatchOptions{Inline: true, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		var last freeze.Row
		n := 0
		for of := range rows {
			last, n = of[0], n+1
		}
		cancel()
		if last.Verdict != project.Failed || last.RecordJSON != nil || !finding.Has(last.Findings, finding.Interrupted) {
			t.Errorf("%d jobs: %+v", jobs, last)
		}
		if n > 4 || jobs == 1 && n != 4 {
			t.Errorf("%d jobs: %d captures", jobs, n)
		}
	}
}
