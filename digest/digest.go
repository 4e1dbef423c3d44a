// Package digest computes and parses SHA-256 digests.
//
// It defines the format of digests in the files of this project. The digest maps of
// in-toto have another format; see Hex. The package must not know what the bytes
// mean.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync"
)

// Prefix is the algorithm part of a Digest.
const Prefix = "sha256:"

// Digest is a SHA-256 digest: "sha256:" and 64 lower-case hex digits. The empty
// string means no digest.
type Digest string

// Of returns the digest of b.
func Of(b []byte) Digest {
	sum := sha256.Sum256(b)
	return newDigest(&sum)
}

func newDigest(sum *[sha256.Size]byte) Digest {
	var text [len(Prefix) + 2*sha256.Size]byte
	hex.Encode(text[copy(text[:], Prefix):], sum[:])
	return Digest(text[:])
}

// Hash returns a new SHA-256 hash. Sum returns its digest.
func Hash() hash.Hash { return sha256.New() }

// Sum returns the digest of the bytes written to h, which Hash must have returned.
func Sum(h hash.Hash) Digest {
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return newDigest(&sum)
}

// hashing is a hash with a buffer for reading.
type hashing struct {
	hash.Hash
	buffer [32 << 10]byte
}

// hashings saves an allocation for each of many small files.
var hashings = sync.Pool{New: func() any { return &hashing{Hash: Hash()} }}

// Read returns the digest of all bytes of r.
func Read(r io.Reader) (Digest, error) {
	h := hashings.Get().(*hashing)
	defer hashings.Put(h)
	h.Reset()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h.Hash}, struct{ io.Reader }{r}, h.buffer[:]); err != nil {
		return "", err
	}
	return Sum(h.Hash), nil
}

// Parse returns s as a Digest. It fails if s does not have the format of a digest.
func Parse(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, Prefix)
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("digest %.80q is not sha256: and 64 lower-case hex digits", s)
	}
	return Digest(s), nil
}

// Hex returns the hex digits without the prefix, as in in-toto's digest maps.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), Prefix) }
