package event_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
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

// laws checks the laws of the package on one text, and returns its faults.
func laws(t testing.TB, text []byte) []event.Fault {
	t.Helper()
	strict, strictErr := event.Decode(text)
	var tolerated []event.Fault
	e, err := event.Decode(text, event.Tolerant(&tolerated))
	faults, checkErr := event.Check(text, event.Auto)
	sameFaults(t, text, strictErr, faults)
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
		if !jsonvalue.Equal(parse(t, text), parse(t, out)) {
			t.Errorf("%s is written as\n%s", text, out)
		}
	}
	accounted(t, text, out, tolerated)
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
		if !keeps[f.Tolerance] && !mayKeep[f.Tolerance] {
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
	event.DraftType: true, event.ActivityContent: true, event.PatchPointer: true,
	event.MalformedMember: true,
}

// mayKeep lists those that change nothing in some cases: binary parts with only an id are
// kept, and so is an empty array of interrupts.
var mayKeep = map[event.Tolerance]bool{event.BinaryContent: true, event.EmptyInterrupts: true}

// accounted checks that the differences between a text and what is written for it are
// those that the faults name.
func accounted(t testing.TB, text, out []byte, faults []event.Fault) {
	t.Helper()
	found := differences(nil, "", parse(t, text), parse(t, out))
	var places []string
	for _, f := range faults {
		at := string(f.Pointer)
		slash := strings.LastIndexByte(at, '/')
		var of []string
		switch {
		case keeps[f.Tolerance]:
			continue
		case f.Tolerance == event.DraftName:
			of = []string{at, "/delta", "/patch", "/snapshot"}
		case f.Tolerance == event.SnakeCaseName:
			of = []string{at, at[:slash+1] + camelCase(at[slash+1:])}
		case f.Tolerance == event.OutcomeString:
			of = []string{at, "/interrupt"}
		case f.Tolerance == event.BinaryContent:
			places = append(places, at[:slash]) // because an equal part may be removed
			continue
		case mayKeep[f.Tolerance]:
			places = append(places, at)
			continue
		default:
			of = []string{at}
		}
		places = append(places, of...)
		if !slices.ContainsFunc(found, func(d string) bool {
			return slices.ContainsFunc(of, func(p string) bool { return within(d, p) || within(p, d) })
		}) {
			t.Errorf("%s is written as\n%s, without a change for %s at %s", text, out, f.Tolerance, f.Pointer)
		}
	}
	for _, d := range found {
		if !slices.ContainsFunc(places, func(p string) bool { return within(d, p) }) {
			t.Errorf("%s is written as\n%s, which differs at %s; the faults are %v", text, out, d, faults)
		}
	}
}

// within reports whether the value at pointer p is the one at root or inside it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func camelCase(snake string) string {
	words := strings.Split(snake, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// differences appends the pointers of the values that differ.
func differences(found []string, at finding.Pointer, a, b jsonvalue.Value) []string {
	x, isObject := a.(*jsonvalue.Object)
	y, ok := b.(*jsonvalue.Object)
	if isObject && ok {
		for name, v := range x.All {
			if w, ok := y.Get(name); ok {
				found = differences(found, at.Name(name), v, w)
			} else {
				found = append(found, string(at.Name(name)))
			}
		}
		for name := range y.All {
			if _, ok := x.Get(name); !ok {
				found = append(found, string(at.Name(name)))
			}
		}
		return found
	}
	v, isArray := a.(*jsonvalue.Array)
	w, ok := b.(*jsonvalue.Array)
	if isArray && ok && v.Len() == w.Len() {
		for i := range v.Len() {
			found = differences(found, at.Index(i), v.At(i), w.At(i))
		}
		return found
	}
	if !jsonvalue.Equal(a, b) {
		found = append(found, string(at))
	}
	return found
}

// sameJSON reports whether two texts have the same value.
func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	return jsonvalue.Equal(parse(t, a), parse(t, b))
}

// sameFaults checks that the error of a strict decode has the faults of Check, without the
// unknown types and keys, and the null states, that a strict decode accepts.
func sameFaults(t testing.TB, text []byte, err error, faults []event.Fault) {
	t.Helper()
	if len(faults) == event.MaxFaults {
		return // the unknown keys among them take the place of others
	}
	var got []event.Fault
	if all, ok := errors.AsType[*event.Error](err); ok {
		got = all.Faults
	}
	want := slices.DeleteFunc(slices.Clone(faults), func(f event.Fault) bool {
		return f.Tolerance == event.UnknownType || f.Tolerance == event.UnknownKey || !f.Fatal && f.Tolerance == event.NullOptional && strings.HasSuffix(string(f.Pointer), "/state")
	})
	if !slices.Equal(got, want) {
		t.Errorf("%s has the faults %v, but Check lists %v", text, got, want)
	}
}
