package finding

import (
	"errors"
	"sync"

	"github.com/p20export/p20export/internal/strictjson"
)

// faults has the code of each fault of a JSON text.
var faults = sync.OnceValue(func() map[strictjson.Fault]Code {
	return map[strictjson.Fault]Code{
		strictjson.Malformed:    JSONSyntax,
		strictjson.InvalidUTF8:  JSONInvalidUTF8,
		strictjson.DuplicateKey: JSONDuplicateKey,
		strictjson.TooDeep:      JSONTooDeep,
		strictjson.Trailing:     JSONTrailing,
	}
})

// FromSyntax returns the finding about a JSON text that cannot be read strictly;
// ok is false when err is no such error.
func FromSyntax(err error) (f Finding, ok bool) {
	syntax, ok := errors.AsType[*strictjson.SyntaxError](err)
	if !ok {
		return f, false
	}
	f = New(faults()[syntax.Fault], "%s", syntax.Message)
	if syntax.Fault == strictjson.DuplicateKey {
		f = New(JSONDuplicateKey, "the key %s stands twice in one object", Quote(syntax.Key))
	}
	if syntax.Advice != "" {
		f = f.WithHint("%s", syntax.Advice)
	}
	return f.WithOffset(syntax.Offset).WithPointer(Pointer(syntax.Pointer)), true
}
