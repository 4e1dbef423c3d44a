package attach

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// A Cursor is a place in a thread: the id of an event.
type Cursor struct {
	// Position is a position of the thread, or 0 before the first.
	Position int64
	// Compacted, if not 0, is a number of events of the compacted form of the run that
	// begins after Position. Only the view Compact has such places.
	Compacted int64
	// Check, if not 0, says which entry a client got at Position, or with Compacted, which
	// was the last of the run. If the log has another one there now, it was rewound.
	Check uint32
}

// CursorOf returns the id of an entry.
func CursorOf(e *store.Entry) Cursor { return Cursor{Position: e.Position, Check: checkOf(e)} }

// checkOf returns the check of an entry, which is not 0. It has the time of arrival, because an
// agent that runs again can send the same event at the same position. It is the same in every
// log with the entry, and in every release.
func checkOf(e *store.Entry) uint32 {
	b := append(make([]byte, 0, 128), e.Stream...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Arrived.UnixMicro()))
	return cmp.Or(crc32.Update(crc32.ChecksumIEEE(b), crc32.IEEETable, e.Data), 1)
}

// ErrCursor means that a text is not a cursor, or that the view has no such place.
var ErrCursor = errors.New("the place is not one of this view: use the id of an event that this view sent")

// ParseCursor returns the cursor that String returns as a text. Others are ErrCursor.
func ParseCursor(text string) (Cursor, error) {
	place, check, _ := strings.Cut(text, "-")
	position, compacted, _ := strings.Cut(place, ".")
	// What is missing or malformed becomes 0, which String does not return in this way.
	var c Cursor
	c.Position, _ = strconv.ParseInt(position, 10, 64)
	c.Compacted, _ = strconv.ParseInt(compacted, 10, 64)
	sum, _ := strconv.ParseUint(check, 16, 32)
	c.Check = uint32(sum)
	if c.String() != text || c.Check != 0 && c == (Cursor{Check: c.Check}) { // no entry is at position 0
		return Cursor{}, fmt.Errorf("%s: %w", finding.Quote(text), ErrCursor)
	}
	return c, nil
}

// String returns c as the id of an event.
func (c Cursor) String() string {
	text := strconv.FormatInt(c.Position, 10)
	if c.Compacted != 0 {
		text += "." + strconv.FormatInt(c.Compacted, 10)
	}
	if c.Check != 0 {
		text += fmt.Sprintf("-%08x", c.Check)
	}
	return text
}
