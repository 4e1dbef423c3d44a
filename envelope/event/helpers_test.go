package event_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// parse returns the tree of a JSON text.
func parse(t testing.TB, text []byte) jsonvalue.Value {
	t.Helper()
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return jsonvalue.Parse(v)
}

// equal compares JSON values. The order of members and the spelling of numbers do not
// matter.
func equal(a, b jsonvalue.Value) bool {
	switch a := a.(type) {
	case jsonvalue.Number:
		b, ok := b.(jsonvalue.Number)
		return ok && (a == b || sameNumber(string(a), string(b)))
	case *jsonvalue.Array:
		b, ok := b.(*jsonvalue.Array)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.At(i), b.At(i)) {
				return false
			}
		}
		return true
	case *jsonvalue.Object:
		b, ok := b.(*jsonvalue.Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for name, v := range a.All {
			if w, ok := b.Get(name); !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

// sameNumber compares numbers with short exponents exactly.
func sameNumber(a, b string) bool {
	if len(a) > 40 || len(b) > 40 || strings.Contains(a, "e4") || strings.Contains(b, "e4") {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	y, valid := new(big.Rat).SetString(b)
	return ok && valid && x.Cmp(y) == 0
}

// laws checks the laws of the package on one text, and returns its faults.
func laws(t testing.TB, text []byte) []event.Fault {
	t.Helper()
	strict, strictErr := event.Decode(text)
	var tolerated []event.Fault
	e, err := event.Decode(text, event.Tolerant(&tolerated))
	faults, checkErr := event.Check(text)
	if err != nil {
		if strictErr == nil {
			t.Errorf("a strict decode accepts %s, a tolerant one does not: %v", text, err)
		}
		if _, ok := err.(*event.Error); !ok && checkErr == nil {
			t.Errorf("Check accepts %s: %v", text, err)
		}
		return faults
	}
	if checkErr != nil {
		t.Errorf("Check fails on %s: %v", text, checkErr)
	}
	out := event.Append(nil, e)
	if strictErr == nil {
		if got := event.Append(nil, strict); string(got) != string(out) {
			t.Errorf("%s is written as\n%s after a strict decode, and as\n%s after a tolerant one", text, got, out)
		}
		if !equal(parse(t, text), parse(t, out)) {
			t.Errorf("%s is written as\n%s", text, out)
		}
	}
	kept := true
	for _, f := range tolerated {
		kept = kept && keeps[f.Tolerance]
	}
	if kept && !equal(parse(t, text), parse(t, out)) {
		t.Errorf("%s has only faults that are kept, and is written as\n%s", text, out)
	}
	var left []event.Fault
	again, err := event.Decode(out, event.Tolerant(&left))
	if err != nil {
		t.Errorf("%s is written as\n%s, which is refused: %v", text, out, err)
		return faults
	}
	if got := event.Append(nil, again); string(got) != string(out) {
		t.Errorf("%s is written as\n%s, and that as\n%s", text, out, got)
	}
	for _, f := range left {
		// Binary parts with only an id are kept.
		if !keeps[f.Tolerance] && f.Tolerance != event.BinaryContent {
			t.Errorf("%s is written as\n%s, which has %s at %s", text, out, f.Tolerance, f.Pointer)
		}
	}
	if len(left) == 0 {
		if _, err := event.Decode(out); err != nil {
			t.Errorf("%s is written as\n%s, which a strict decode refuses: %v", text, out, err)
		}
	}
	return faults
}

// keeps lists the tolerances that change nothing, so a written event has them too.
var keeps = map[event.Tolerance]bool{
	event.UnknownType: true, event.UnknownKey: true, event.UnknownMember: true, event.RetiredType: true,
	event.DraftType: true, event.EmptyInterrupts: true, event.ActivityContent: true, event.PatchPointer: true,
	event.MalformedMember: true,
}
