package strictjson

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// UnmarshalSettings decodes a file with settings, all of which are optional. It rejects unknown
// keys, and null, which the decoder would take for the default. The parameter what is the
// format with its article, as for Explain.
func UnmarshalSettings(data []byte, v any, what string) error {
	if err := Explain(json.Unmarshal(data, v, json.RejectUnknownMembers(true)), what); err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	if members == nil {
		return errors.New("it is null, and must be a JSON object")
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if members[key].Kind() == 'n' {
			return fmt.Errorf("%s is null: leave it out for the default", key)
		}
	}
	return nil
}
