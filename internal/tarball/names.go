package tarball

import (
	"crypto/sha256"
	"encoding/binary"
)

// NameSet is a set of names. It needs less than 32 bytes for each, because it keeps
// hashes. They are long enough for a million names not to collide.
type NameSet struct{ hashes map[uint64]struct{} }

func hashName(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}

// Has reports whether the set has a name.
func (s *NameSet) Has(name string) bool {
	_, ok := s.hashes[hashName(name)]
	return ok
}

// Add adds a name. It returns false if the set has it already.
func (s *NameSet) Add(name string) bool {
	h := hashName(name)
	if _, ok := s.hashes[h]; ok {
		return false
	}
	if s.hashes == nil {
		s.hashes = make(map[uint64]struct{})
	}
	s.hashes[h] = struct{}{}
	return true
}
