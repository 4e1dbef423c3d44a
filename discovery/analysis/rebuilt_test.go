package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCompareRebuilt(t *testing.T) {
	t.Parallel()
	const (
		user    = `{"id":"u","role":"user","content":"Hi"}`
		reply   = `{"id":"a","role":"assistant","content":"Hello"}`
		call    = `{"id":"b","role":"assistant","toolCalls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}]}`
		both    = `{"id":"a","role":"assistant","content":"Hello","toolCalls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}]}`
		result  = `{"id":"r","role":"tool","toolCallId":"t","content":"ok"}`
		thought = `{"id":"g","role":"reasoning","content":"hm"}`
		picture = `{"id":"u","role":"user","content":[{"type":"image","n":1.0}]}`
	)
	type counts = map[Deviation]int
	for _, test := range []struct {
		rebuilt, emitted string
		same, id, name   int
		want             counts
	}{
		{``, ``, 0, 0, 0, nil},
		{user + `,` + reply, user + `,` + reply, 2, 0, 0, nil},
		{reply, `{"role":"assistant","id":"z","name":"n","content":"Hello","toolCalls":[],"encryptedValue":"x"}`, 1, 1, 1, nil},
		{`{"id":"a","role":"assistant"}`, `{"id":"a","role":"assistant","content":"","toolCalls":null}`, 1, 0, 0, nil},
		{`{"id":"a","role":"assistant"}`, `{"id":"a","role":"assistant","content":null}`, 1, 0, 0, nil},
		{call, strings.Replace(call, `{\"n\":1}`, `{ \"n\" : 1e0 }`, 1), 1, 0, 0, nil},
		{call, strings.Replace(call, `{\"n\":1}`, `{\"n\":2}`, 1), 0, 0, 0, counts{CallsOther: 1}},
		{call, strings.Replace(call, `"t"`, `"s"`, 1), 0, 0, 0, counts{CallsOther: 1}},
		{picture, strings.Replace(picture, `"type":"image","n":1.0`, `"n":1,"type":"image"`, 1), 1, 0, 0, nil},
		{picture, strings.Replace(picture, `1.0`, `2`, 1), 0, 0, 0, counts{ContentParts: 1}},
		{picture, user, 0, 0, 0, counts{ContentOther: 1}},
		{reply, strings.Replace(reply, `Hello`, `Hello\n`, 1), 0, 0, 0, counts{ContentSpace: 1}},
		{reply, strings.Replace(reply, `Hello`, `Hel lo`, 1), 0, 0, 0, counts{ContentOther: 1}},
		{reply, strings.Replace(reply, `Hello`, `\u00a0Hello`, 1), 0, 0, 0, counts{ContentOther: 1}},
		{strings.Replace(reply, `Hello`, `\ud83d`, 1), strings.Replace(reply, `Hello`, `\ud83e`, 1), 0, 0, 0, counts{ContentOther: 1}},
		{reply, both, 0, 0, 0, counts{CallsEmitted: 1}},
		{both, reply, 0, 0, 0, counts{CallsStreamed: 1}},
		{reply + `,` + call, both, 0, 0, 0, counts{Joined: 1}},
		{both, reply + `,` + call, 0, 0, 0, counts{Split: 1}},
		{reply + `,` + user + `,` + call, both + `,` + user, 1, 0, 0, counts{CallsEmitted: 1, StreamedOther: 1}},
		{result, strings.Replace(result, `"t"`, `"s"`, 1), 0, 0, 0, counts{ResultOther: 1}},
		{result, strings.Replace(result, `}`, `,"error":"e"}`, 1), 0, 0, 0, counts{ResultOther: 1}},
		{user, `{"id":"s","role":"system","content":"Be brief."},` + user, 1, 0, 0, counts{EmittedInstructions: 1}},
		{call, call + `,` + result, 1, 0, 0, counts{EmittedResult: 1}},
		{user, user + `,{"id":"a","role":"assistant","content":""}`, 1, 0, 0, counts{EmittedEmpty: 1}},
		{user, user + `,` + user, 1, 0, 0, counts{EmittedTwice: 1}},
		{user, user + `,` + reply, 1, 0, 0, counts{EmittedOther: 1}},
		{thought + `,` + user, user, 1, 0, 0, counts{StreamedReasoning: 1}},
		{thought + `,` + thought, thought, 1, 0, 0, counts{StreamedTwice: 1}},
		{user + `,` + reply, user, 1, 0, 0, counts{StreamedText: 1}},
		{user + `,` + call, user, 1, 0, 0, counts{StreamedOther: 1}},
		{user + `,` + reply, reply + `,` + user, 2, 0, 0, counts{Moved: 1}},
	} {
		got, err := CompareRebuilt([]byte(`[`+test.rebuilt+`]`), []byte(`[`+test.emitted+`]`))
		if err != nil {
			t.Fatal(err)
		}
		if got.Same != test.same || got.OtherID != test.id || got.OtherName != test.name || len(got.Deviations)+len(test.want) > 0 && !cmp.Equal(got.Deviations, test.want) {
			t.Errorf("%s and %s: %+v", test.rebuilt, test.emitted, got)
		}
		if got.Agrees() != (test.want == nil) || got.Identical() != (test.want == nil && test.id+test.name == 0) {
			t.Errorf("%s and %s: %t, %t", test.rebuilt, test.emitted, got.Agrees(), got.Identical())
		}
	}
	for _, bad := range []string{``, `{}`, `[`, `[{"a":1,"a":2}]`} {
		if _, err := CompareRebuilt([]byte(bad), []byte(`[]`)); err == nil {
			t.Errorf("%q is compared", bad)
		}
		if _, err := CompareRebuilt([]byte(`[]`), []byte(bad)); err == nil {
			t.Errorf("%q is compared", bad)
		}
	}
}

// The comparison accounts for every message, and a list agrees with itself.
func TestCompareRebuiltCounts(t *testing.T) {
	t.Parallel()
	message := rapid.Custom(func(t *rapid.T) string {
		role := rapid.SampledFrom([]string{"user", "assistant", "tool", "reasoning", "system"}).Draw(t, "role")
		content := rapid.SampledFrom([]string{`""`, `"a"`, `"a "`, `"b"`, `[]`, `null`}).Draw(t, "content")
		calls := rapid.SampledFrom([]string{`[]`, `[{"id":"t","function":{"name":"f","arguments":"{}"}}]`}).Draw(t, "calls")
		return fmt.Sprintf(`{"id":"m","role":%q,"content":%s,"toolCalls":%s}`, role, content, calls)
	})
	list := rapid.Map(rapid.SliceOfN(message, 0, 8), func(list []string) []byte { return []byte(`[` + strings.Join(list, ",") + `]`) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		r, err := CompareRebuilt(a, b)
		if err != nil {
			t.Fatal(err)
		}
		known := map[Deviation]bool{}
		for _, d := range Deviations() {
			known[d] = true
		}
		for d := range r.Deviations {
			if !known[d] {
				t.Errorf("%s is not in Deviations", d)
			}
		}
		if least := max(r.Rebuilt, r.Emitted) - r.Same; r.Agrees() && least > 0 {
			t.Errorf("%+v", r)
		}
		if self, err := CompareRebuilt(a, a); err != nil || !self.Identical() || self.Same != self.Rebuilt {
			t.Errorf("with itself: %+v, %v", self, err)
		}
		back, err := CompareRebuilt(b, a)
		if err != nil || back.Rebuilt != r.Emitted || back.Same != r.Same || back.Agrees() != r.Agrees() {
			t.Errorf("%+v and back %+v, %v", r, back, err)
		}
	})
}
