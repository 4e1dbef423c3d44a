package jsonpatch

import (
	"math/rand/v2"
	"testing"

	"github.com/p20export/p20export/internal/strictjson"
)

// FuzzApply checks in both dialects that a patch keeps the sizes right, changes nothing if
// it fails, and leaves a document that can be read again.
func FuzzApply(f *testing.F) {
	for i := range 40 {
		doc, patch := randomPatch(rand.New(rand.NewPCG(1, uint64(i))))
		f.Add([]byte(doc), []byte(patch), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, doc, patch []byte, client bool) {
		text, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), doc)
		if err != nil {
			return
		}
		ops, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), patch)
		if err != nil {
			return
		}
		dialect := RFC6902
		if client {
			dialect = Client
		}
		var d Document
		if err := d.Reset(text); err != nil {
			t.Fatal(err)
		}
		before := string(d.Append(nil))
		err = d.Apply(ops, dialect, nil)
		checkDocument(t, &d)
		after := d.Append(nil)
		without, unknown := newDocument(t, before), 0
		if fails := without.Apply(ops, dialect, func(int, string) { unknown++ }); unknown == 0 && ((fails == nil) != (err == nil) || string(without.Append(nil)) != string(after)) {
			t.Fatalf("a patch without unknown operations gives %s (%v), and %s (%v) if these are left out", after, err, without.Append(nil), fails)
		}
		if err != nil && string(after) != before {
			t.Fatalf("the patch fails (%v) and changes %s to %s", err, before, after)
		}
		if d.Missing() {
			return
		}
		again := newDocument(t, string(after))
		if string(again.Append(nil)) != string(after) {
			t.Fatalf("%s is read as %s", after, again.Append(nil))
		}
	})
}
