package compact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

func ExampleNormalize() {
	history := []byte(`[{"id":"m1","role":"user","content":"Hello"}]`)
	input := []byte(`{"threadId":"t","runId":"r2","messages":[{"content":"Hello","id":"m1","role":"user"},{"id":"m2","role":"user","content":"How are you?"}]}`)
	n, err := Normalize(history, input)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(n.Input))
	exact, err := Denormalize(history, n)
	fmt.Println(string(exact) == string(input), err)
	// Output:
	// {"threadId":"t","runId":"r2","messages":[{"id":"m2","role":"user","content":"How are you?"}]}
	// true <nil>
}

func TestNormalize(t *testing.T) {
	const m1, m2, m3 = `{"id":"1","role":"user","content":"a"}`, `{"id":"2","content":1.0}`, `{"id":"3","x":[{"b":null,"a":"\u00e9"}]}`
	all := "[" + m1 + "," + m2 + "," + m3 + "]"
	for name, test := range map[string]struct{ history, input, want string }{
		"nothing known":                 {`[]`, `{"messages":[` + m1 + `]}`, `{"messages":[` + m1 + `]}`},
		"no messages":                   {all, `{"runId":"r"}`, `{"runId":"r"}`},
		"no list":                       {all, `{"messages":{"id":"1"}}`, `{"messages":{"id":"1"}}`},
		"all":                           {all, ` { "messages" : [ ` + m1 + ` , ` + m2 + ` ] , "x":1 } `, ` { "messages" : [  ] , "x":1 } `},
		"first":                         {all, `{"messages":[` + m1 + ` , {"id":"9"} ]}`, `{"messages":[{"id":"9"} ]}`},
		"last":                          {all, `{"messages":[{"id":"9"} , ` + m1 + ` ]}`, `{"messages":[{"id":"9"} ]}`},
		"last two":                      {all, `{"messages":[{"id":"9"},` + m1 + "," + m2 + `]}`, `{"messages":[{"id":"9"}]}`},
		"between":                       {all, `{"messages":[{"id":"9"},` + m1 + "," + m2 + `,{"id":"8"},` + m3 + `]}`, `{"messages":[{"id":"9"},{"id":"8"}]}`},
		"twice":                         {all, `{"messages":[` + m1 + "," + m1 + `]}`, `{"messages":[]}`},
		"order of members":              {all, `{"messages":[{"content":"a","role":"user","id":"1"}]}`, `{"messages":[]}`},
		"notation":                      {all, `{"messages":[{"id":"\u0032","content":10e-1},{"id":"3","x":[{"a":"é","b":null}]}]}`, `{"messages":[]}`},
		"other content":                 {all, `{"messages":[{"id":"1","role":"user","content":"b"}]}`, `{"messages":[{"id":"1","role":"user","content":"b"}]}`},
		"unknown member":                {all, `{"messages":[{"id":"1","role":"user","content":"a","y":1}]}`, `{"messages":[]}`},
		"unknown member of the history": {`[{"id":"1","role":"user","content":"a","y":1}]`, `{"messages":[{"id":"1","role":"user","content":"a","y":2}]}`, `{"messages":[{"id":"1","role":"user","content":"a","y":2}]}`},
		"null is not absent": {all, `{"messages":[{"id":"1","role":"user","content":"a","name":null}]}`,
			`{"messages":[{"id":"1","role":"user","content":"a","name":null}]}`},
		"order of elements": {`[{"id":"1","x":[1,2]}]`, `{"messages":[{"id":"1","x":[2,1]}]}`, `{"messages":[{"id":"1","x":[2,1]}]}`},
		"large numbers":     {`[{"id":"1","x":9007199254740993}]`, `{"messages":[{"id":"1","x":9007199254740992}]}`, `{"messages":[{"id":"1","x":9007199254740992}]}`},
		"no messages of objects": {`["Tell me", {"role":"user"}, {"id":1}]`, `{"messages":["Tell me",{"role":"user"},{"id":1}]}`,
			`{"messages":["Tell me",{"role":"user"},{"id":1}]}`},
		"the first of two in the history": {`[{"id":"1","x":1},{"id":"1","x":2}]`, `{"messages":[{"id":"1","x":2},{"id":"1","x":1}]}`, `{"messages":[{"id":"1","x":2}]}`},
		"half a pair":                     {`[{"id":"\ud83d","x":"\ude00"}]`, `{"messages":[{"id":"\ud83d","x":"\ude00"},{"id":"\ud83e"}]}`, `{"messages":[{"id":"\ud83e"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Normalize([]byte(test.history), []byte(test.input))
			if err != nil {
				t.Fatal(err)
			}
			if string(n.Input) != test.want {
				t.Errorf("the input is\n%s, want\n%s", n.Input, test.want)
			}
			exact, err := Denormalize([]byte(test.history), n)
			if err != nil || string(exact) != test.input {
				t.Errorf("the input is restored as\n%s (%v), want\n%s", exact, err, test.input)
			}
		})
	}
}

// TestNormalizeFindings reports messages with known ids and other content.
func TestNormalizeFindings(t *testing.T) {
	input := `{"messages":[{"id":"1","content":"a"},{"id":"2","content":"b"},{"id":"1","content":"b"}]}`
	n, err := Normalize([]byte(`[{"id":"1","content":"a"},{"id":"3"}]`), []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Findings) != 1 {
		t.Fatalf("the findings are %v, want one", n.Findings)
	}
	f := n.Findings[0]
	if f.Code != finding.InputMessageDiffers || f.Severity != finding.Warning || f.Pointer != "/messages/2" || *f.Offset != int64(strings.LastIndex(input, `{"id":"1"`)) {
		t.Errorf("the finding is %+v", f)
	}
}

// TestNormalizedStored stores what was removed as JSON.
func TestNormalizedStored(t *testing.T) {
	history, input := []byte(`[{"id":"1","x":1},{"id":"2"},{"id":"\udc00"}]`), []byte(`{"messages":[{"id":"1", "x":1.0},{"id":"2"},{"id":"\udc00"}]}`)
	n, err := Normalize(history, input)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	restored := Normalized{Input: n.Input}
	if err := json.Unmarshal(text, &restored); err != nil {
		t.Fatal(err)
	}
	exact, err := Denormalize(history, &restored)
	if err != nil || string(exact) != string(input) {
		t.Errorf("%s restores %s (%v)", text, exact, err)
	}
	if strings.Contains(string(text), `{\"id\":\"2\"}`) {
		t.Errorf("a message that the history has is stored again: %s", text)
	}
}

func TestNormalizeErrors(t *testing.T) {
	for _, test := range []struct {
		history, input string
		want           error
	}{
		{`{}`, `{}`, ErrHistory}, {`[`, `{}`, ErrHistory}, {`[{"id":"1","id":"2"}]`, `{}`, ErrHistory},
		{`[]`, `[]`, ErrInput}, {`[]`, `{`, ErrInput}, {`[]`, ``, ErrInput}, {`[]`, `{"messages":[{"id":"1","id":"2"}]}`, ErrInput},
	} {
		if _, err := Normalize([]byte(test.history), []byte(test.input)); !errors.Is(err, test.want) {
			t.Errorf("Normalize(%s, %s) fails with %v, want %v", test.history, test.input, err, test.want)
		}
	}
	n, err := Normalize([]byte(`[{"id":"1"}]`), []byte(`{"messages":[{"id":"1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, history := range []string{`[]`, `[{"id":"1","x":1}]`} {
		if _, err := Denormalize([]byte(history), n); !errors.Is(err, ErrOtherHistory) {
			t.Errorf("Denormalize with %s fails with %v, want %v", history, err, ErrOtherHistory)
		}
	}
	for _, offset := range []int{-1, 99} {
		n.Removed[0].Offset = offset
		if _, err := Denormalize([]byte(`[{"id":"1"}]`), n); !errors.Is(err, ErrOtherHistory) {
			t.Errorf("Denormalize with offset %d fails with %v, want %v", offset, err, ErrOtherHistory)
		}
	}
}

func TestDecimal(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "-0": "0", "0.00e7": "0", "1": "1e0", "1.0": "1e0", "-10": "-1e1", "100e-2": "1e0", "0.010": "1e-2", "12.50E+1": "125e0",
		"9007199254740993": "9007199254740993e0", "1e99999999999999999999": "1e99999999999999999999",
	} {
		if got := decimal(number); got != want {
			t.Errorf("decimal(%s) = %s, want %s", number, got, want)
		}
	}
}

// TestNormalizeLaws checks the laws on random histories and inputs.
func TestNormalizeLaws(t *testing.T) {
	message := rapid.SampledFrom([]string{
		`{"id":"1","content":"a"}`, `{"content":"a", "id":"1"}`, `{"id":"1","content":"b"}`, `{"id":"2","n":1}`, `{"id":"2","n":1.0}`, `{"id":"3"}`, `{ "id" : "\u0033" }`, `"text"`, `7`,
	})
	list := func(t *rapid.T, name string) string {
		var b strings.Builder
		for i, m := range rapid.SliceOfN(message, 0, 6).Draw(t, name) {
			if i > 0 {
				b.WriteString(rapid.SampledFrom([]string{",", " ,", ",\n", " , "}).Draw(t, "comma"))
			}
			b.WriteString(m)
		}
		space := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "space")
		return "[" + space + b.String() + space + "]"
	}
	rapid.Check(t, func(t *rapid.T) {
		checkNormalize(t, []byte(list(t, "history")), []byte(`{"x":[1],"messages":`+list(t, "input")+`,"y":{}}`))
	})
}

// checkNormalize checks the laws of Normalize, if it accepts the texts.
func checkNormalize(t rapid.TB, history, input []byte) {
	n, err := Normalize(history, input)
	if err != nil {
		return
	}
	if exact, err := Denormalize(history, n); err != nil || string(exact) != string(input) {
		t.Fatalf("%s, normalized with %s to %s, is restored as %s (%v)", input, history, n.Input, exact, err)
	}
	again, err := Normalize(history, n.Input)
	if err != nil || string(again.Input) != string(n.Input) || len(again.Removed) > 0 {
		t.Fatalf("%s, normalized with %s to %s, is normalized again to %+v (%v)", input, history, n.Input, again, err)
	}
	if len(again.Findings) != len(n.Findings) {
		t.Fatalf("%s, normalized with %s, has the findings %v and then %v", input, history, n.Findings, again.Findings)
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`[{"id":"1","content":"a"},{"id":"2"}]`), []byte(`{"messages":[{"id":"2"} , {"content":"a","id":"1"},{"id":"1"}],"state":{"a":1e2}}`))
	f.Add([]byte(`[]`), []byte(`{"messages":[]}`))
	f.Add([]byte(`[{"id":"\ud83d"}]`), []byte(` {"messages": [ {"id":"\ud83d"} ] } `))
	f.Fuzz(func(t *testing.T, history, input []byte) { checkNormalize(t, history, input) })
}
