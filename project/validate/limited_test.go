package validate

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/p20export/p20export/finding"
)

// An envelope is read up to its limit, with any content.
func TestEndlessEnvelope(t *testing.T) {
	for _, text := range []string{`{"type":"`, "\n", ":\n", "[1", "[] ", "y"} {
		endless := io.MultiReader(strings.NewReader(text), repeating(text[len(text)-1]))
		found, canonical, err := checkEnvelope([]byte(text), endless, 1<<20)
		if err != nil || canonical || len(found) != 1 || found[0].Code != finding.TooLarge {
			t.Errorf("%q: %v, %v", text, found, err)
		}
	}
}

// repeating is an endless sequence of one byte.
type repeating byte

func (r repeating) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// An input as long as the limit is read. One more byte is a finding, independent of how
// the reader splits its bytes.
func TestLimited(t *testing.T) {
	for n, want := range map[int]bool{0: false, 99: false, 100: false, 101: true, 200: true} {
		for _, r := range []io.Reader{
			strings.NewReader(strings.Repeat("a", n)),
			iotest.OneByteReader(strings.NewReader(strings.Repeat("a", n))),
			iotest.DataErrReader(strings.NewReader(strings.Repeat("a", n))),
		} {
			got, err := io.ReadAll(&limitedReader{r, 100, 100})
			f, tooLarge := err.(finding.Finding)
			if tooLarge != want || tooLarge && f.Code != finding.TooLarge || !tooLarge && (err != nil || len(got) != n) {
				t.Errorf("%d bytes: %d are read, %v", n, len(got), err)
			}
		}
	}
}
