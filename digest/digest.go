// Package digest names bytes by their SHA-256.
//
// It knows how a digest is spelled in every file of this project but in-toto's
// own digest maps, and nothing about what the bytes mean.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// Prefix is the algorithm part of a spelled digest.
const Prefix = "sha256:"

// Digest is a SHA-256 digest spelled "sha256:" and 64 lower-case hex digits.
// The zero value, the empty string, means that there is none.
type Digest string

// Of returns the digest of b.
func Of(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(Prefix + hex.EncodeToString(sum[:]))
}

// Hash returns a running SHA-256 to be read with Sum.
func Hash() hash.Hash { return sha256.New() }

// Sum returns the digest of what was written to h, a hash made by Hash.
func Sum(h hash.Hash) Digest {
	return Digest(Prefix + hex.EncodeToString(h.Sum(nil)))
}

// Parse checks the spelling of s.
func Parse(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, Prefix)
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("digest %.80q is not sha256: and 64 lower-case hex digits", s)
	}
	return Digest(s), nil
}

// Hex returns the hex digits alone, as in-toto's digest maps hold them.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), Prefix) }
