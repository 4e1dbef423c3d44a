package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithSuffix(t *testing.T) {
	list := []Scenario{
		{Name: "a", Needed: true, Request: []byte(`{ "threadId": "t\u0041", "runId": "r", "parentRunId": "p", "messages": [{"id": "m", "runId": "m"}], "state": {"threadId": "s"} }`)},
		{Name: "b", Request: []byte(`{"threadId":"","runId":null,"messages":[]}`)},
		{Name: "c", Request: []byte(`{}`)},
	}
	got, err := WithSuffix(list, "-1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"threadId":"tA-1","runId":"r-1","parentRunId":"p-1","messages":[{"id":"m","runId":"m"}],"state":{"threadId":"s"}}`,
		`{"threadId":"","runId":null,"messages":[]}`,
		`{}`,
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
		if got, err := WithSuffix([]Scenario{{Name: "a", Request: []byte(bad)}}, "-1"); err == nil {
			t.Errorf("%s became %s", bad, got[0].Request)
		}
	}
}

// The scenarios that any agent can be asked all take a suffix.
func TestOwnWithSuffix(t *testing.T) {
	list, err := OwnList()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := WithSuffix(list.Anywhere(), "-1"); err != nil || len(got) == 0 {
		t.Errorf("%d scenarios, %v", len(got), err)
	}
}
