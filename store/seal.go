package store

import "fmt"

// Seal is a signed statement about the first entries of a thread, which package store/seal
// makes and verifies. A log only keeps it.
type Seal struct {
	// Size is the number of entries that the seal is about.
	Size int64
	// Checkpoint is the statement, and Token a time-stamp token over it, or nil.
	Checkpoint, Token []byte
}

// Blocks are hashes of entries, from which the hashes of larger parts of a thread can be
// computed without reading the entries. They are derived from the entries, and can be
// dropped at any time.
type Blocks struct {
	// First is the number of blocks before these.
	First int64
	// Hashes has BlockHashBytes for each block.
	Hashes []byte
}

// BlockEntries is the number of entries of a block, and BlockHashBytes the size of its hash.
const (
	BlockEntries   = 256
	BlockHashBytes = 32
)

// MaxSealBytes is the maximum size of a checkpoint, and of a token.
const MaxSealBytes = 1 << 20

// Check returns ErrSeal, with the reason, unless s and b can be those of a thread whose last
// position is last.
func (s *Seal) Check(b Blocks, last int64) error {
	end := b.First + int64(len(b.Hashes)/BlockHashBytes)
	switch {
	case s.Size < 1:
		return fmt.Errorf("%w: its size is %d", ErrSeal, s.Size)
	case s.Size > last:
		return fmt.Errorf("%w: its size is %d, and the last position is %d", ErrSeal, s.Size, last)
	case len(s.Checkpoint) == 0:
		return fmt.Errorf("%w: it has no checkpoint", ErrSeal)
	case len(s.Checkpoint) > MaxSealBytes, len(s.Token) > MaxSealBytes:
		return fmt.Errorf("%w: its checkpoint or its token has more than %d bytes", ErrSeal, MaxSealBytes)
	case b.First < 0, len(b.Hashes)%BlockHashBytes != 0, end > s.Size/BlockEntries:
		return fmt.Errorf("%w: its blocks are not blocks of the entries", ErrSeal)
	}
	return nil
}

// AppendBlocks appends the hashes of b that follow those in hashes. It appends nothing if
// others are missing in between.
func AppendBlocks(hashes []byte, b Blocks) []byte {
	if skip := int64(len(hashes)) - b.First*BlockHashBytes; skip >= 0 && skip < int64(len(b.Hashes)) {
		return append(hashes, b.Hashes[skip:]...)
	}
	return hashes
}
