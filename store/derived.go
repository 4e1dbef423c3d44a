package store

import "fmt"

// Derived is data that was computed from the entries of a thread up to a position. It saves
// computing it again, and can be dropped at any time. It is not part of the thread: exports do not
// have it, and seals and checks do not read it. So nobody may rely on it for more than speed.
type Derived struct {
	Position int64
	// Head is a short part that can be read alone.
	Head, Data []byte
}

// MaxHeadBytes is the maximum size of Derived.Head, MaxDerivedBytes that of Derived.Data, and
// MaxKindBytes that of a kind.
const (
	MaxHeadBytes    = 1 << 10
	MaxDerivedBytes = 256 << 20
	MaxKindBytes    = 100
)

// CheckDerived returns ErrDerived, with the reason, unless a list of a kind can be kept for a
// thread whose last position is last.
func CheckDerived(kind string, list []Derived, last int64) error {
	if kind == "" || len(kind) > MaxKindBytes {
		return fmt.Errorf("%w: the kind %.100q", ErrDerived, kind)
	}
	for i := range list {
		switch d := &list[i]; {
		case d.Position < 1 || d.Position > last:
			return fmt.Errorf("%w: it has the position %d, and the last position is %d", ErrDerived, d.Position, last)
		case len(d.Head) > MaxHeadBytes, len(d.Data) > MaxDerivedBytes:
			return fmt.Errorf("%w: its head has more than %d bytes, or its data more than %d", ErrDerived, MaxHeadBytes, MaxDerivedBytes)
		}
	}
	return nil
}
