package envelope

import (
	"errors"

	"github.com/p20export/p20export/internal/strictjson"
)

var errStop = errors.New("stop")

// Messages calls yield for each message of a snapshot that is an object, in
// order. The object is valid during the call.
func Messages(e *Event) func(yield func(i int, m *Object) bool) {
	return func(yield func(int, *Object) bool) {
		list, _ := e.Get("messages")
		// The list was read before, as part of the event: the only error is
		// the one that ends the loop.
		_ = strictjson.Elements(list, func(i int, v strictjson.Value, m *strictjson.Object) error {
			if v.Kind == strictjson.ObjectStart && !yield(i, m) {
				return errStop
			}
			return nil
		})
	}
}
