package authority_test

import (
	"testing"

	"github.com/digitorus/timestamp"
	"github.com/p20export/p20export/internal/testkit/authority"
)

// Another implementation reads the tokens and the responses.
func TestAnotherReader(t *testing.T) {
	t.Parallel()
	a := authority.New(t)
	read, err := timestamp.ParseResponse(a.Over([]byte("data")))
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Certificates) != 2 || read.Time.IsZero() {
		t.Errorf("%+v", read)
	}
	refusal := a.Over(nil, func(a *authority.Answer) { a.Status, a.Text = 2, "not today" })
	if _, err := timestamp.ParseResponse(refusal); err == nil {
		t.Error("a refusal was read as a token")
	}
}

// The fixed authority is the same each time.
func TestFixed(t *testing.T) {
	t.Parallel()
	a, b := authority.Fixed(t), authority.Fixed(t)
	if !a.Root.Equal(b.Root.Certificate) || !a.Leaf.Equal(b.Leaf.Certificate) {
		t.Error("the certificates differ")
	}
}
