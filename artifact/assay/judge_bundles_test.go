//go:build judge

package assay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

// The published verifier and ours accept two thousand bundles of 1 to 200 placeholders
// or receipts, without deviations.
func TestJudgeLargeNumber(t *testing.T) {
	j := startJudge(t)
	bundles, events := 0, 0
	for range 20 {
		rapid.Check(t, func(t *rapid.T) {
			pool := rapid.SliceOfN(anyArtifact(), 1, 4).Draw(t, "artifacts")
			receipt := Receipt{ArtifactRef: "a.json", ArtifactDigest: digest.Of(nil), Reducer: "r@1", Origin: "emitted", ImportedAt: "2026-04-14T20:10:00Z"}
			forms := []func(*artifact.Artifact) Event{Placeholder, receipt.Event}
			run := sampleRun()
			run.ID = rapid.StringMatching(`[a-zA-Z0-9_.é-]{1,40}x`).Filter(func(s string) bool { return !strings.Contains(s, "..") }).Draw(t, "run")
			if rapid.Bool().Draw(t, "unknown") {
				run.Producer.Git = UnknownGit
			}
			all := make([]Event, rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 200)).Draw(t, "events"))
			for i := range all {
				all[i] = forms[i/len(pool)%2](pool[i%len(pool)])
			}
			var b bytes.Buffer
			written, err := WriteBundle(&b, run, sequence(all...))
			if err != nil {
				t.Fatal(err)
			}
			if want, got := fmt.Sprintf("accepted %d %s", len(all), written.RunRoot), j.verdict(t, b.Bytes()); got != want {
				t.Fatalf("the judge: %s\n    want: %s", got, want)
			}
			v, err := Verify(bytes.NewReader(b.Bytes()), Options{Strict: true})
			if err != nil || v.Events != len(all) || v.RunRoot != string(written.RunRoot) || len(v.Deviations) > 0 {
				t.Fatalf("%v, %+v", err, v)
			}
			bundles, events = bundles+1, events+len(all)
		})
	}
	if bundles < 2000 {
		t.Errorf("%d bundles; want 2000", bundles)
	}
	t.Logf("%d bundles of %d events", bundles, events)
}
