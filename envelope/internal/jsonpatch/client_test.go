//go:build client

package jsonpatch

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
)

// TestClientPatch compares the client's dialect with fast-json-patch, on ten patches for
// each stream that other tests of this kind generate.
func TestClientPatch(t *testing.T) {
	j := judge.Start(t)
	applied, skipped := 0, 0
	n := judge.Streams(2000) * 10
	for i := range n {
		r := rand.New(rand.NewPCG(17, uint64(i)))
		doc, patch := randomPatch(r)
		d := newDocument(t, doc)
		err := d.Apply(read(t, []byte(patch)), Client, nil)
		checkDocument(t, d)
		if err != nil && strings.HasSuffix(err.Error(), errFunction.Error()) || err != nil && strings.HasSuffix(err.Error(), errLength.Error()) {
			skipped++
			continue
		}
		result, ok := j.Patch(doc, patch)
		got := string(d.Append(nil))
		switch {
		case ok != (err == nil):
			t.Errorf("%d: %s\n%s\nthe client says %v (%.200s), we say %v: %s", i, doc, patch, ok, result, err, got)
		case !ok && got != string(newDocument(t, doc).Append(nil)):
			t.Errorf("%d: %s\n%s\nfails but leaves %s", i, doc, patch, got)
		case ok && (result == "") != (got == ""), ok && result != "" && !judge.Equal(got, result):
			t.Errorf("%d: %s\n%s\nthe client has %s, we have %s", i, doc, patch, result, got)
		case ok:
			applied++
		}
	}
	t.Logf("%d of %d patches apply; %d lead into functions and were not compared", applied, n, skipped)
	if applied < n/10 || skipped > n/50 {
		t.Errorf("of %d patches %d apply and %d were not compared", n, applied, skipped)
	}
}
