package attach

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
)

// A Cursor is a place in a thread: the id of an event.
type Cursor struct {
	// Position is a position of the thread, or 0 before the first.
	Position int64
	// Compacted, if not 0, is a number of events of the compacted form of the run that
	// begins after Position. Only the view Compact has such places.
	Compacted int64
}

// ErrCursor means that a text is not a cursor, or that the view has no such place.
var ErrCursor = errors.New("the place is not one of this view: use the id of an event that this view sent")

// ParseCursor returns the cursor that String returns as a text. Others are ErrCursor.
func ParseCursor(text string) (Cursor, error) {
	position, compacted, both := strings.Cut(text, ".")
	var c Cursor
	var err, second error
	c.Position, err = strconv.ParseInt(position, 10, 64)
	if both {
		c.Compacted, second = strconv.ParseInt(compacted, 10, 64)
	}
	if err != nil || second != nil || c.Position < 0 || c.Compacted < 0 || c.String() != text {
		return Cursor{}, fmt.Errorf("%s: %w", finding.Quote(text), ErrCursor)
	}
	return c, nil
}

// String returns c as the id of an event.
func (c Cursor) String() string {
	if c.Compacted == 0 {
		return strconv.FormatInt(c.Position, 10)
	}
	return strconv.FormatInt(c.Position, 10) + "." + strconv.FormatInt(c.Compacted, 10)
}
