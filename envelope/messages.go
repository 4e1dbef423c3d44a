package envelope

import (
	"errors"

	"github.com/p20export/p20export/internal/strictjson"
)

var errStop = errors.New("stop")

// Messages returns an iterator over the indices and messages of a snapshot. It
// skips messages that are not objects. A message is valid until the next one.
func Messages(e *Event) func(yield func(i int, m *Object) bool) {
	return func(yield func(int, *Object) bool) {
		list, _ := e.Get("messages")
		// The event was read before, so the only possible error is errStop.
		_ = strictjson.Elements(list, func(i int, v strictjson.Value, m *strictjson.Object) error {
			if v.Kind == strictjson.ObjectStart && !yield(i, m) {
				return errStop
			}
			return nil
		})
	}
}
