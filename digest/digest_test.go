package digest_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/digest"
)

// The first two are test vectors of FIPS 180-4.
func TestOf(t *testing.T) {
	for in, want := range map[string]digest.Digest{
		"":       "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"abc":    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"abc\n":  "sha256:edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb",
		"\x00":   "sha256:6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"\xff\n": digest.Digest("sha256:" + fmt.Sprintf("%x", sha256.Sum256([]byte("\xff\n")))),
	} {
		if got := digest.Of([]byte(in)); got != want {
			t.Errorf("Of(%q) = %s, want %s", in, got, want)
		}
	}
}

// Hashing bytes in pieces returns the digest of the whole, which Parse accepts.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := digest.Hash()
		var whole []byte
		for _, piece := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "pieces") {
			h.Write(piece)
			whole = append(whole, piece...)
		}
		want := digest.Of(whole)
		for range 2 {
			if got := digest.Sum(h); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
		if got, err := digest.Parse(string(want)); got != want || err != nil {
			t.Fatalf("Parse(%s) = %s, %v", want, got, err)
		}
		if digest.Prefix+want.Hex() != string(want) || len(want.Hex()) != 64 {
			t.Fatalf("%s has the digits %s", want, want.Hex())
		}
	})
}

func TestParseRefuses(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	if _, err := digest.Parse("sha256:" + digits); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"",
		"sha256:",
		digits,
		"SHA256:" + digits,
		"sha512:" + digits,
		"sha256" + digits,
		"sha256: " + digits[1:],
		"sha256:" + digits[1:],
		"sha256:" + digits + "0",
		"sha256:" + strings.ToUpper(digits),
		"sha256:" + digits[:63] + "g",
		"sha256:" + digits[:31] + "G" + digits[32:],
		"sha256:g" + digits[1:],
		"sha256:" + digits[:62] + "é",
		"sha256:" + digits + "\n",
		" sha256:" + digits,
		"sha256:sha256:" + digits,
	} {
		got, err := digest.Parse(s)
		if err == nil || got != "" {
			t.Errorf("Parse(%q) = %q, %v", s, got, err)
		}
	}
	_, err := digest.Parse("\x1b[31m\u202e" + strings.Repeat("x", 10_000))
	if err == nil || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("the error is %q", err)
	}
}

func TestNoDigest(t *testing.T) {
	if got := digest.Digest("").Hex(); got != "" {
		t.Errorf("got %q", got)
	}
}

// Read returns the digest of what a reader returns, and its error.
func TestRead(t *testing.T) {
	for _, text := range []string{"", "abc", strings.Repeat("long", 50_000)} {
		for range 2 {
			got, err := digest.Read(iotest.HalfReader(strings.NewReader(text)))
			if want := digest.Of([]byte(text)); got != want || err != nil {
				t.Errorf("Read of %d bytes = %s, %v, want %s", len(text), got, err, want)
			}
		}
	}
	if got, err := digest.Read(iotest.ErrReader(io.ErrUnexpectedEOF)); got != "" || err != io.ErrUnexpectedEOF {
		t.Errorf("Read = %q, %v", got, err)
	}
}
