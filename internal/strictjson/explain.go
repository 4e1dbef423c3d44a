package strictjson

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Explain returns an error that explains to a user why JSON could not be decoded
// into one of the program's formats. The errors of package json name Go types
// instead. The parameter what is the format with its article, such as "a record".
// Explain returns other errors unchanged.
func Explain(err error, what string) error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		place := string(semantic.JSONPointer)
		switch {
		case errors.Is(err, json.ErrUnknownName):
			return fmt.Errorf("%s is not a key of %s", place, what)
		case place == "":
			return fmt.Errorf("it is not a JSON object, as %s must be", what)
		}
		if must := mustBe(semantic.GoType, semantic.JSONKind); must != "" {
			return fmt.Errorf("the value of %s must be %s in %s", place, must, what)
		}
		return fmt.Errorf("the value of %s is not allowed in %s", place, what)
	case errors.As(err, &syntactic):
		return fmt.Errorf("invalid JSON at byte %d: %s", syntactic.ByteOffset, strings.TrimPrefix(syntactic.Err.Error(), "jsontext: "))
	}
	return err
}

// mustBe returns what kind of JSON value a Go type is decoded from, if it is not the one that
// there is, or "".
func mustBe(t reflect.Type, is jsontext.Kind) string {
	if t == nil {
		return ""
	}
	switch k := t.Kind(); {
	case is != '{' && (k == reflect.Struct || k == reflect.Map):
		return "an object"
	case is != '[' && (k == reflect.Slice || k == reflect.Array):
		return "an array"
	case is != '"' && k == reflect.String:
		return "a string"
	case is != 't' && is != 'f' && k == reflect.Bool:
		return "true or false"
	}
	return ""
}
