package strictjson

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Explain says why JSON could not be read into one of our formats in the
// format's terms, which what names with its article ("a record"): the errors of
// the decoder name types of Go.
func Explain(err error, what string) error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		place := string(semantic.JSONPointer)
		switch {
		case errors.Is(err, json.ErrUnknownName):
			return fmt.Errorf("%s is no key of %s", place, what)
		case place == "":
			return fmt.Errorf("it is no JSON object, which %s is", what)
		}
		return fmt.Errorf("%s has a value that %s does not have there", place, what)
	case errors.As(err, &syntactic):
		return fmt.Errorf("it is not JSON at byte %d: %s", syntactic.ByteOffset, strings.TrimPrefix(syntactic.Err.Error(), "jsontext: "))
	}
	return err
}
