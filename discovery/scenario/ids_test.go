package scenario

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// dns is the namespace of RFC 9562 for domain names; its appendix A.4 has the UUID of
// www.example.com.
var dns = [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}

func TestWithNewIDs(t *testing.T) {
	list := []Scenario{
		{Name: "a", Needed: true, AnyAgent: true, Request: []byte(`{ "threadId": "www.ex\u0061mple.com", "runId": "r", "parentRunId": "r", "messages": [{"id": "m", "runId": "m"}], "state": {"threadId": "s"} }`)},
		{Name: "b", AnyAgent: true, Request: []byte(`{"threadId":"","runId":null,"messages":[]}`)},
		{Name: "c", AnyAgent: true, Request: []byte(`{}`)},
		{Name: "d", Request: []byte(`{"threadId":"t","runId":"r","parentRunId":"p"}`)},
	}
	got, err := WithNewIDs(list, dns)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"threadId":"2ed6657d-e927-568b-95e1-2665a8aea6a2","runId":"26f2cbc5-90e4-5d5e-9d5c-930d14805910","parentRunId":"26f2cbc5-90e4-5d5e-9d5c-930d14805910","messages":[{"id":"m","runId":"m"}],"state":{"threadId":"s"}}`,
		`{"threadId":"","runId":null,"messages":[]}`,
		`{}`,
		`{"threadId":"t","runId":"r","parentRunId":"p"}`,
	}
	for i, s := range got {
		if s.Name != list[i].Name || s.Needed != list[i].Needed {
			t.Errorf("%+v", s)
		}
		request := s.Request.Clone()
		_ = request.Compact()
		if diff := cmp.Diff(want[i], string(request)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	if string(list[2].Request) != "{}" || list[0].Request[2] != '"' {
		t.Errorf("the list became %s", list[0].Request)
	}
	for _, bad := range []string{"", "[]", `{"threadId"`, `{"a":1`} {
		if got, err := WithNewIDs([]Scenario{{Name: "a", AnyAgent: true, Request: []byte(bad)}}, dns); err == nil {
			t.Errorf("%s became %s", bad, got[0].Request)
		}
	}
}

// Each scenario for any agent is a new conversation on each run: it gets new ids, or has
// none, so that the server chooses them.
func TestOwnWithNewIDs(t *testing.T) {
	list, err := BuiltinList()
	if err != nil {
		t.Fatal(err)
	}
	old := list.ForAnyAgent()
	got, err := WithNewIDs(old, dns)
	if err != nil || len(got) == 0 {
		t.Fatalf("%d scenarios, %v", len(got), err)
	}
	for i, s := range got {
		var was, is struct{ ThreadID, RunID *string }
		if err := errors.Join(json.Unmarshal(old[i].Request, &was, json.MatchCaseInsensitiveNames(true)), json.Unmarshal(s.Request, &is, json.MatchCaseInsensitiveNames(true))); err != nil {
			t.Fatal(err)
		}
		if was.ThreadID != nil && *was.ThreadID == *is.ThreadID || was.RunID != nil && *was.RunID == *is.RunID {
			t.Errorf("%s is the conversation %s again", s.Name, s.Request)
		}
	}
}
