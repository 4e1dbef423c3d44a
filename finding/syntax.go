package finding

import (
	"errors"
	"sync"

	"github.com/p20export/p20export/internal/strictjson"
)

// faults maps each fault of a JSON text to its code.
var faults = sync.OnceValue(func() map[strictjson.Fault]Code {
	return map[strictjson.Fault]Code{
		strictjson.Malformed:    JSONSyntax,
		strictjson.InvalidUTF8:  JSONInvalidUTF8,
		strictjson.DuplicateKey: JSONDuplicateKey,
		strictjson.TooDeep:      JSONTooDeep,
		strictjson.Trailing:     JSONTrailing,
	}
})

// FromSyntax returns the finding for an error of reading JSON strictly. If err is
// another error, ok is false.
func FromSyntax(err error) (f Finding, ok bool) {
	syntax, ok := errors.AsType[*strictjson.SyntaxError](err)
	if !ok {
		return f, false
	}
	f = New(faults()[syntax.Fault], "%s", syntax.Message)
	if syntax.Fault == strictjson.DuplicateKey {
		f = New(JSONDuplicateKey, "the key %s appears twice in one object", Quote(syntax.Key))
	}
	if syntax.Advice != "" {
		f = f.WithHint("%s", syntax.Advice)
	}
	return f.WithOffset(syntax.Offset).WithPointer(Pointer(syntax.Pointer)), true
}
