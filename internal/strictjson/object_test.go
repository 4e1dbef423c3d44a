package strictjson_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

func TestReadText(t *testing.T) {
	text := []byte(` {"a": [1,{"b":2}], "\u0062":"x\ty","c":null}` + "\n")
	var o strictjson.Object
	value, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
	if err != nil {
		t.Fatal(err)
	}
	if value.Kind != strictjson.ObjectStart || value.Start != 1 || string(value.Raw) != string(text[1:len(text)-1]) {
		t.Errorf("got %c at %d: %s", value.Kind, value.Start, value.Raw)
	}
	want := []string{`"a"@2=[1,{"b":2}]@7`, `"\u0062"@20="x\ty"@29`, `"c"@36=null@40`}
	var got []string
	for m := range o.All {
		if m.Name.Kind != strictjson.Name {
			t.Errorf("the name %s has kind %c", m.Name.Raw, m.Name.Kind)
		}
		got = append(got, fmt.Sprintf("%s@%d=%s@%d", m.Name.Raw, m.Name.Start, m.Value.Raw, m.Value.Start))
		for _, v := range []strictjson.Value{m.Name, m.Value} {
			if string(text[v.Start:v.Start+len(v.Raw)]) != string(v.Raw) {
				t.Errorf("%s is not at %d", v.Raw, v.Start)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if names := slices.Collect(o.Names); !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("the names are %q", names)
	}
	if v, ok := o.Get("b"); !ok || v.Start != 29 {
		t.Errorf("b is %v, %v", v, ok)
	}
	if v, ok := o.Get("B"); ok || v.Kind != 0 {
		t.Errorf("B is %v", v)
	}
	again := strictjson.CloneObject(&o, bytes.Clone(text))
	clear(text)
	if v, ok := again.Get("b"); !ok || string(v.Raw) != `"x\ty"` || v.Start != 29 || again.Len() != 3 {
		t.Errorf("b in a copy of the text is %s at %d", v.Raw, v.Start)
	}
}

func TestReadTextOfOthers(t *testing.T) {
	var o strictjson.Object
	var d strictjson.Decoder
	if _, err := strictjson.ReadText(&o, &d, []byte(`{"left":"over"}`)); err != nil {
		t.Fatal(err)
	}
	for text, kind := range map[string]strictjson.Kind{`[{"a":1}]`: strictjson.ArrayStart, `"s"`: strictjson.String, `1`: strictjson.Number, `true`: strictjson.True, `null`: strictjson.Null, `{}`: strictjson.ObjectStart} {
		v, err := strictjson.ReadText(&o, &d, []byte(text))
		if err != nil || v.Kind != kind || string(v.Raw) != text || o.Len() != 0 {
			t.Errorf("%s: %c %s, %d members, %v", text, v.Kind, v.Raw, o.Len(), err)
		}
	}
}

func TestReadTextRefuses(t *testing.T) {
	for _, tt := range []struct {
		text    string
		code    finding.Code
		offset  int64
		pointer finding.Pointer
	}{
		{`{"a":1,"a":2}`, finding.JSONDuplicateKey, 7, "/a"},
		{`{"a":{"b":1,"\u0062":2}}`, finding.JSONDuplicateKey, 12, "/a/b"},
		{`{"a":[[{"b":1,"b":2}]]}`, finding.JSONDuplicateKey, 14, "/a/0/0/b"},
		{`[{"b":1,"b":2}]`, finding.JSONDuplicateKey, 8, "/0/b"},
		{`{"a":1} {}`, finding.JSONTrailing, 8, ""},
		{`[] 1`, finding.JSONTrailing, 3, ""},
		{`{"a":1`, finding.JSONSyntax, 6, "/a"},
		{`{"a"`, finding.JSONSyntax, 4, ""},
		{`{"a":`, finding.JSONSyntax, 5, "/a"},
		{`{"a":[`, finding.JSONSyntax, 6, "/a/0"},
		{``, finding.JSONSyntax, 0, ""},
	} {
		var o strictjson.Object
		v, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(tt.text))
		var f finding.Finding
		if !asFinding(err, &f) || f.Code != tt.code || *f.Offset != tt.offset || f.Pointer != tt.pointer || v.Raw != nil {
			t.Errorf("%s: %v, %+v", tt.text, v, err)
		}
	}
}

func TestValueIs(t *testing.T) {
	for _, tt := range []struct {
		raw, s string
		want   bool
	}{
		{`""`, "", true},
		{`"a"`, "a", true},
		{`"a"`, "b", false},
		{`"a"`, "", false},
		{`""`, "a", false},
		{`"\u0061"`, "a", true},
		{`"\u0061"`, `\u0061`, false},
		{`"a\\b"`, `a\b`, true},
		{`"a\\b"`, `a\\b`, false},
		{`"\n"`, `\n`, false},
		{`"\n"`, "\n", true},
		{`"\\n"`, `\n`, true},
		{`"\ud83d\ude42"`, "🙂", true},
		{`true`, "true", false},
		{`1`, "1", false},
		{`["a"]`, "a", false},
	} {
		var o strictjson.Object
		v, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(tt.raw))
		if err != nil {
			t.Fatal(err)
		}
		if v.Is(tt.s) != tt.want {
			t.Errorf("%s is %q: %v", tt.raw, tt.s, !tt.want)
		}
		if v.Kind != strictjson.String {
			if s, valid := v.Text(); s != "" || !valid {
				t.Errorf("%s has the text %q, %v", tt.raw, s, valid)
			}
			continue
		}
		if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(`{"other":0,`+tt.raw+`:1}`)); err != nil {
			t.Fatal(err)
		}
		if v, ok := o.Get(tt.s); ok != tt.want || ok && string(v.Raw) != "1" {
			t.Errorf("%s as a name is %q: %v", tt.raw, tt.s, ok)
		}
	}
	if (strictjson.Value{}).Is("") {
		t.Error("no value is a string")
	}
}

func TestElements(t *testing.T) {
	text := []byte(`{"list": [1, {"a":"x","b":[]}, [2,{"c":3}], "s"] }`)
	var o strictjson.Object
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), text); err != nil {
		t.Fatal(err)
	}
	list, _ := o.Get("list")
	var got []string
	err := strictjson.Elements(list, func(i int, v strictjson.Value, o *strictjson.Object) error {
		got = append(got, fmt.Sprintf("%d: %s@%d", i, v.Raw, v.Start))
		check := []strictjson.Value{v}
		for m := range o.All {
			got = append(got, fmt.Sprintf("%s=%s", m.Name.Raw, m.Value.Raw))
			check = append(check, m.Name, m.Value)
		}
		for _, v := range check {
			if string(text[v.Start:v.Start+len(v.Raw)]) != string(v.Raw) {
				t.Errorf("%s is not at %d", v.Raw, v.Start)
			}
		}
		return nil
	})
	want := []string{`0: 1@10`, `1: {"a":"x","b":[]}@13`, `"a"="x"`, `"b"=[]`, `2: [2,{"c":3}]@31`, `3: "s"@44`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	stop := errors.New("stop")
	calls := 0
	if err := strictjson.Elements(list, func(int, strictjson.Value, *strictjson.Object) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	none := func(int, strictjson.Value, *strictjson.Object) error { t.Error("called"); return nil }
	for _, v := range []strictjson.Value{{}, {Kind: strictjson.ObjectStart, Raw: []byte(`{"a":1}`)}, {Kind: strictjson.ArrayStart, Raw: []byte(`[ ]`)}} {
		if err := strictjson.Elements(v, none); err != nil {
			t.Error(err)
		}
	}
}

func TestMemberIs(t *testing.T) {
	t.Parallel()
	var o strictjson.Object
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(`{"a":1,"\u0062":2,"":3}`)); err != nil {
		t.Fatal(err)
	}
	i := 0
	for m := range o.All {
		name := []string{"a", "b", ""}[i]
		if !m.Is("x", name) || m.Is("x", "ab", name+"x") || m.Is() {
			t.Errorf("member %d: it is %q: %v", i, name, m.Is(name))
		}
		i++
	}
}

func TestValueMember(t *testing.T) {
	t.Parallel()
	v := strictjson.Value{Kind: strictjson.ObjectStart, Raw: []byte(`{"a":{"b":5}}`)}
	a, ok := v.Member("a")
	if b, found := a.Member("b"); !ok || !found || string(b.Raw) != "5" {
		t.Errorf("the members are %s and %s", a.Raw, b.Raw)
	}
	for _, v := range []strictjson.Value{{}, v, {Kind: strictjson.String, Raw: []byte(`"x"`)}, {Kind: strictjson.ObjectStart, Raw: []byte(`{`)}} {
		if got, ok := v.Member("x"); ok || got.Kind != 0 {
			t.Errorf("%s has a member x: %s", v.Raw, got.Raw)
		}
	}
}
