package tarball

import (
	"crypto/sha256"
	"encoding/binary"
)

// NameSet is a set of names. It needs less than 32 bytes for each, because it keeps only
// 64 bits of their SHA-256 digests. Two of a million names have the same with a
// probability of 3 in 100 million; the second one is then taken for a repeated name.
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
