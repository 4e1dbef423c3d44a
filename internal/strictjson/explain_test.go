package strictjson_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/internal/strictjson"
)

func TestExplain(t *testing.T) {
	var v struct {
		List []int `json:"list"`
	}
	for in, want := range map[string]string{
		`{"list":[1],"more":2}`: "/more is not a key of a list",
		`{"list":[1,"x"]}`:      "the value of /list/1 is not allowed in a list",
		`{"list":{}}`:           "the value of /list must be an array in a list",
		`[]`:                    "it is not a JSON object, as a list must be",
		`{"list":[1]`:           "invalid JSON at byte 11: unexpected EOF",
		`{"list":[1]]`:          "invalid JSON at byte 11: invalid character ']' after object value (expecting ',' or '}')",
		`{"list":[],"list":[]}`: `invalid JSON at byte 11: duplicate object member name`,
		"{\"list\":[]}x":        "invalid JSON at byte 11: invalid character 'x' after top-level value",
	} {
		err := strictjson.Explain(json.Unmarshal([]byte(in), &v, json.RejectUnknownMembers(true)), "a list")
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	other := errors.New("other")
	if got := strictjson.Explain(other, "a list"); got != other {
		t.Error(got)
	}
	if got := strictjson.Explain(nil, "a list"); got != nil {
		t.Error(got)
	}
}
