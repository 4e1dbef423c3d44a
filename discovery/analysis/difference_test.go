package analysis

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// someMessages draws from a few values, so that lists have many messages in common.
var someMessages = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) artifact.Message {
	return artifact.Message{
		ID:      rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"),
		Role:    rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"),
		Name:    rapid.SampledFrom([]string{"", "n"}).Draw(t, "name"),
		Content: rapid.SampledFrom([]string{"x", "y", "x ", "<", "&lt;"}).Draw(t, "content"),
	}
}), 0, 12)

func TestDifferenceOfSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someMessages.Draw(t, "list")
		want := &Difference{Folded: len(list), Emitted: len(list), Same: len(list), Mismatches: []Mismatch{}}
		if diff := cmp.Diff(want, difference(list, slices.Clone(list))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// Every message of both lists is in exactly one equal pair or mismatch, and mismatches
// keep the order of each list.
func TestDifferenceCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folded, emitted := someMessages.Draw(t, "folded"), someMessages.Draw(t, "emitted")
		d := difference(folded, emitted)
		var mismatchedFolded, mismatchedEmitted []int
		for _, a := range d.Mismatches {
			if a.Folded != nil {
				mismatchedFolded = append(mismatchedFolded, *a.Folded)
			}
			if a.Emitted != nil {
				mismatchedEmitted = append(mismatchedEmitted, *a.Emitted)
			}
			checkMismatch(t, a, folded, emitted)
		}
		for what, list := range map[string]struct {
			indexes []int
			length  int
		}{"folded": {mismatchedFolded, len(folded)}, "emitted": {mismatchedEmitted, len(emitted)}} {
			if !slices.IsSorted(list.indexes) || len(slices.Compact(slices.Clone(list.indexes))) != len(list.indexes) || len(list.indexes)+d.Same != list.length {
				t.Errorf("%s: %d same and mismatches %v of %d", what, d.Same, list.indexes, list.length)
			}
		}
		// The messages without a mismatch are pairwise equal.
		rest, other := withoutIndexes(folded, mismatchedFolded), withoutIndexes(emitted, mismatchedEmitted)
		if diff := cmp.Diff(rest, other); diff != "" {
			t.Errorf("messages without a mismatch (-folded +emitted)\n%s", diff)
		}
		onlyFolded, onlyEmitted := d.Unmatched()
		if d.Folded-onlyFolded != d.Emitted-onlyEmitted {
			t.Errorf("%d pairs in one list, %d in the other", d.Folded-onlyFolded, d.Emitted-onlyEmitted)
		}
	})
}

func withoutIndexes(list []artifact.Message, at []int) (rest []artifact.Message) {
	for i, m := range list {
		if !slices.Contains(at, i) {
			rest = append(rest, m)
		}
	}
	return rest
}

func checkMismatch(t *rapid.T, a Mismatch, folded, emitted []artifact.Message) {
	switch {
	case a.Folded == nil && a.Emitted == nil:
		t.Errorf("%+v is in neither list", a)
	case a.Folded == nil:
		if a.Role != emitted[*a.Emitted].Role || a.Aspects != nil {
			t.Errorf("%+v of %+v", a, emitted[*a.Emitted])
		}
	case a.Emitted == nil:
		if a.Role != folded[*a.Folded].Role || a.Aspects != nil {
			t.Errorf("%+v of %+v", a, folded[*a.Folded])
		}
	default:
		f, e := folded[*a.Folded], emitted[*a.Emitted]
		content := slices.Contains(a.Aspects, AspectContent) || slices.Contains(a.Aspects, AspectWhiteSpace) || slices.Contains(a.Aspects, AspectEscapes)
		if f.Role != a.Role || e.Role != a.Role || len(a.Aspects) == 0 || slices.Contains(a.Aspects, AspectID) != (f.ID != e.ID) ||
			slices.Contains(a.Aspects, AspectName) != (f.Name != e.Name) || content != (f.Content != e.Content) {
			t.Errorf("%+v of %+v and %+v", a, f, e)
		}
	}
}

// Swapping the lists does not change the number of pairs.
func TestDifferenceSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someMessages.Draw(t, "a"), someMessages.Draw(t, "b")
		if there, back := len(longestCommon(texts(a), texts(b))), len(longestCommon(texts(b), texts(a))); there != back {
			t.Errorf("%d pairs, but %d with the lists swapped", there, back)
		}
		there, back := difference(a, b), difference(b, a)
		if there.Folded != back.Emitted || there.Emitted != back.Folded {
			t.Errorf("%+v and %+v", there, back)
		}
	})
}

func TestDifferenceContent(t *testing.T) {
	for _, test := range []struct {
		folded, emitted string
		want            []Aspect
	}{
		{"a b", "a b", nil},
		{"a b", " a\n\tb ", []Aspect{AspectWhiteSpace}},
		{"ab", "a b", []Aspect{AspectContent}},
		{"a\u00a0b", "a b", []Aspect{AspectWhiteSpace}},
		{`"a" & <b>`, "&quot;a&#34; &amp; &lt;b>", []Aspect{AspectEscapes}},
		{"it's", "it&#x27;s", []Aspect{AspectEscapes}},
		{"it's ", "it&#x27;s", []Aspect{AspectContent}},
		{"A", "a", []Aspect{AspectContent}},
		{"é", "e\u0301", []Aspect{AspectContent}},
	} {
		d := difference([]artifact.Message{{ID: "m", Role: "user", Content: test.folded}}, []artifact.Message{{ID: "m", Role: "user", Content: test.emitted}})
		var got []Aspect
		for _, a := range d.Mismatches {
			got = append(got, a.Aspects...)
		}
		if !slices.Equal(got, test.want) || d.Same+len(d.Mismatches) != 1 {
			t.Errorf("%q and %q: %v, want %v", test.folded, test.emitted, got, test.want)
		}
		if aspect := len(test.want) > 0 && d.Count(test.want[0]) != 1; aspect {
			t.Errorf("%q and %q: counted %d", test.folded, test.emitted, d.Count(test.want[0]))
		}
	}
}

// For large lists, longestCommon pairs only the beginning and the end.
func TestDifferencePastTable(t *testing.T) {
	many := func(role string, n int) []artifact.Message {
		list := []artifact.Message{{ID: "first", Role: "user", Content: "first"}}
		for range n {
			list = append(list, artifact.Message{ID: role, Role: role, Content: role})
		}
		return append(list, artifact.Message{ID: "last", Role: "user", Content: "last"})
	}
	d := difference(many("assistant", 2_001), many("system", 2_001))
	if folded, emitted := d.Unmatched(); d.Same != 2 || folded != 2_001 || emitted != 2_001 {
		t.Errorf("%d the same, %d and %d unmatched", d.Same, folded, emitted)
	}
}

func TestAnyIndex(t *testing.T) {
	for p, want := range map[finding.Pointer]finding.Pointer{
		"":                            "",
		"/":                           "/",
		"/messages/0/content":         "/messages/*/content",
		"/messages/1999/toolCalls/12": "/messages/*/toolCalls/*",
		"/1a/a1/١":                    "/1a/a1/١",
		"//0/":                        "//*/",
	} {
		if got := anyIndex(p); got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}
