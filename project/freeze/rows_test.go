package freeze_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// repeated has the keys of a row that repeat its capture and its artifact.
type repeated struct {
	Thread, Started, Finished, Terminal *string
	Digest                              *digest.Digest
	Labels                              map[string]string
}

func repeatedOf(row freeze.Row) repeated {
	return repeated{row.ThreadID, row.StartedAt, row.FinishedAt, row.TerminalEvent, row.CaptureDigest, row.Labels}
}

// The rows of every committed capture repeat its labels, the digest of its response, and the
// artifact, under every projection. A row without an artifact has nothing of one.
func TestRowsRepeat(t *testing.T) {
	paths, err := filepath.Glob(captures + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	frozen, refused, runless, skipped := 0, 0, 0, 0
	for _, path := range paths {
		var manifest struct {
			Labels map[string]string
			Files  map[string]any
		}
		read(t, filepath.Join(path, "capture.json"), &manifest)
		response, err := filepath.Glob(path + "/response.*")
		if err != nil || len(response) != 1 || len(manifest.Labels) == 0 {
			t.Fatal(path, response, manifest, err)
		}
		sum := digest.Digest(fmt.Sprintf("sha256:%x", sha256.Sum256(testkit.Read(t, response[0]))))
		for _, name := range project.Names() {
			s := freeze.Settings{Settings: project.Settings{Projection: name}, Dir: t.TempDir()}
			for _, row := range batch(t, all(t, path), s, freeze.BatchOptions{})[0] {
				want := repeated{Digest: &sum, Labels: manifest.Labels}
				switch {
				case row.Verdict == project.Frozen:
					frozen++
					var artifact struct {
						Thread   *string `json:"thread_id_ref"`
						Started  *string `json:"started_at"`
						Finished *string `json:"finished_at"`
						Terminal *string `json:"terminal_event"`
					}
					read(t, *row.Artifact, &artifact)
					want.Thread, want.Started, want.Finished, want.Terminal = artifact.Thread, artifact.Started, artifact.Finished, artifact.Terminal
				case row.Run == nil:
					runless++
				default:
					refused++
				}
				if diff := cmp.Diff(want, repeatedOf(row)); diff != "" {
					t.Errorf("%s under %s, %s (-files +row)\n%s", path, name, row.Verdict, diff)
				}
			}
			for _, row := range batch(t, all(t, path), s, freeze.BatchOptions{SkipExisting: true})[0] {
				if row.Verdict == project.Skipped {
					skipped++
					if diff := cmp.Diff(repeated{Digest: &sum, Labels: manifest.Labels}, repeatedOf(row)); diff != "" {
						t.Errorf("%s under %s, %s (-files +row)\n%s", path, name, row.Verdict, diff)
					}
				}
			}
		}
	}
	if frozen < 100 || refused < 100 || runless == 0 || skipped < 100 {
		t.Errorf("%d frozen, %d refused, %d without a run, %d skipped", frozen, refused, runless, skipped)
	}
}

func read(t *testing.T, path string, v any) {
	t.Helper()
	if err := json.Unmarshal(testkit.Read(t, path), v); err != nil {
		t.Fatal(path, err)
	}
}

// A manifest without labels has empty ones, and a plain file has none. The rows of a capture
// that was changed have its labels, but no digest of its response.
func TestRowsOfOtherCaptures(t *testing.T) {
	const original = captures + "/adk/one-turn"
	manifest := string(testkit.Read(t, original+"/capture.json"))
	begin, rest, ok := strings.Cut(manifest, `"labels": {`)
	_, end, also := strings.Cut(rest, "},\n")
	if !ok || !also {
		t.Fatal(manifest)
	}
	dir := t.TempDir()
	for name, manifest := range map[string]string{
		"unlabelled": begin + end,
		"hostile":    begin + `"labels": {"__proto__": "\u202e<b>", "": "'; --\u0000"},` + end,
		"changed":    manifest,
		"malformed":  begin + `"labels": null,` + end,
	} {
		testkit.CopyDir(t, filepath.Join(dir, name), original)
		testkit.Write(t, filepath.Join(dir, name, "capture.json"), manifest)
	}
	response := testkit.Read(t, original+"/response.sse")
	sum := digest.Of(response)
	if err := os.WriteFile(filepath.Join(dir, "changed", "response.sse"), response[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "plain.sse"), response)
	for name, want := range map[string]struct {
		code   finding.Code // or frozen
		digest *digest.Digest
		labels map[string]string
	}{
		"unlabelled": {"", &sum, map[string]string{}},
		"hostile":    {"", &sum, map[string]string{"__proto__": "\u202e<b>", "": "'; --\x00"}},
		"changed":    {finding.DigestMismatch, nil, map[string]string{"integration": "ag_ui_adk", "scenario": "one-turn", "version": "0.11.0"}},
		"malformed":  {finding.ManifestMalformed, nil, nil},
		"plain.sse":  {finding.StartedAtMissing, &sum, nil},
	} {
		row := batch(t, all(t, filepath.Join(dir, name)), freeze.Settings{}, freeze.BatchOptions{Inline: true})[0][0]
		if (row.Verdict == project.Frozen) != (want.code == "") || want.code != "" && !finding.Has(row.Findings, want.code) {
			t.Errorf("%s: %s, %v", name, row.Verdict, row.Findings)
		}
		if diff := cmp.Diff(want.labels, row.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(want.digest, row.CaptureDigest); diff != "" {
			t.Errorf("%s: digest (-want +got)\n%s", name, diff)
		}
		if (row.ThreadID != nil) != (row.Verdict == project.Frozen) {
			t.Errorf("%s, %s: %v", name, row.Verdict, row.ThreadID)
		}
	}
}

// A run that is refused at the end of its capture has nothing of the artifact that it would
// have had.
func TestRowsRefusedAtEnd(t *testing.T) {
	times, err := project.NewOperatorTimes("2026-01-31T12:00:00Z", "2026-01-31T12:00:01Z")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := freeze.Reader(t.Context(), strings.NewReader(response+response), "two", freeze.Settings{Settings: project.Settings{Operator: times}})
	if err != nil || len(runs) != 2 {
		t.Fatalf("%v, %v", runs, err)
	}
	sum := digest.Of([]byte(response + response))
	for _, run := range runs {
		if run.Verdict != project.Refused || !finding.Has(run.Findings, finding.OperatorTimesNeedRun) {
			t.Errorf("%s, %v", run.Verdict, run.Findings)
		}
		if diff := cmp.Diff(repeated{Digest: &sum}, repeatedOf(run.Row)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
