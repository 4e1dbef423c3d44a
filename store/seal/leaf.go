package seal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/p20export/p20export/store"
)

// leafHeader is the size of a leaf without the id of the stream and the data.
const leafHeader = 20

// AppendLeaf appends the leaf of an entry, the text that is hashed for it:
//
//	8 bytes  position
//	1 byte   kind: 1 event, 2 input, 3 closing, 4 end
//	1 byte   1 if the time of arrival is known, otherwise 0
//	8 bytes  time of arrival in microseconds since 1970-01-01 UTC, or 0
//	2 bytes  size of the id of the stream
//	         id of the stream
//	         data
//
// Integers are big-endian, and the time is in two's complement.
func AppendLeaf(leaf []byte, e *store.Entry) []byte {
	leaf = binary.BigEndian.AppendUint64(leaf, uint64(e.Position))
	leaf = append(leaf, kindNumber(e.Kind))
	if e.Arrived.IsZero() {
		leaf = append(leaf, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	} else {
		leaf = append(leaf, 1)
		leaf = binary.BigEndian.AppendUint64(leaf, uint64(e.Arrived.UnixMicro()))
	}
	leaf = binary.BigEndian.AppendUint16(leaf, uint16(len(e.Stream)))
	leaf = append(leaf, e.Stream...)
	return append(leaf, e.Data...)
}

// kinds has the kinds in the order of their numbers, from 1.
func kinds() [4]store.Kind {
	return [...]store.Kind{store.Event, store.Input, store.Closing, store.End}
}

func kindNumber(kind store.Kind) byte {
	for i, k := range kinds() {
		if k == kind {
			return byte(i + 1)
		}
	}
	return 0
}

// errLeaf reports that a leaf is not one of AppendLeaf.
var errLeaf = errors.New("it is not the leaf of an entry")

// DecodeLeaf returns the entry of a leaf. Run and Type are not set.
func DecodeLeaf(leaf []byte) (*store.Entry, error) {
	if len(leaf) < leafHeader {
		return nil, fmt.Errorf("%w: it is too short", errLeaf)
	}
	position, kind, known := binary.BigEndian.Uint64(leaf), leaf[8], leaf[9]
	micros, size := int64(binary.BigEndian.Uint64(leaf[10:])), int(binary.BigEndian.Uint16(leaf[18:]))
	all := kinds()
	switch rest := leaf[leafHeader:]; {
	case position < 1 || position > 1<<62:
		return nil, fmt.Errorf("%w: its position is %d", errLeaf, position)
	case kind < 1 || int(kind) > len(all):
		return nil, fmt.Errorf("%w: its kind is %d", errLeaf, kind)
	case known > 1 || known == 0 && micros != 0:
		return nil, fmt.Errorf("%w: its time is neither known nor unknown", errLeaf)
	case size > len(rest):
		return nil, fmt.Errorf("%w: it ends within the id of the stream", errLeaf)
	}
	stream := string(leaf[leafHeader : leafHeader+size])
	if err := store.CheckID(stream); err != nil {
		return nil, fmt.Errorf("%w: the stream: %w", errLeaf, err)
	}
	e := &store.Entry{Position: int64(position), Kind: all[kind-1], Stream: stream, Data: leaf[leafHeader+size:]}
	if known == 1 {
		e.Arrived = time.UnixMicro(micros).UTC()
		if y := e.Arrived.Year(); e.Arrived.IsZero() || y < 0 || y > 9999 {
			return nil, fmt.Errorf("%w: its time is not one of RFC 3339", errLeaf)
		}
	}
	return e, nil
}
