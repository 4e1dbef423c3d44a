//go:build judge

package assay

import (
	"bytes"
	"fmt"
	"testing"
)

// The published verifier accepts bundles of receipts of all versions.
func TestJudgeReceipts(t *testing.T) {
	j := startJudge(t)
	for name, e := range receipts(t) {
		bundle := bundled(t, sampleRun(), e)
		v, err := Verify(bytes.NewReader(bundle), Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if want, got := fmt.Sprintf("accepted 1 %s", v.RunRoot), j.verdict(t, bundle); got != want {
			t.Errorf("%s: the judge: %s\n    want: %s", name, got, want)
		}
	}
}
