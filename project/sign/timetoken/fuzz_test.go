package timetoken_test

import (
	"crypto"
	"crypto/x509"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/project/sign/timetoken"
)

// FuzzToken checks that a response never panics, and that the signature of a token that is
// accepted covers what it says: another imprint or time than one that was signed is never
// accepted.
func FuzzToken(f *testing.F) {
	a := authority.Fixed(f)
	data, at := []byte("data"), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	plain := func(answer *authority.Answer) { answer.Time = at }
	for _, changes := range [][]func(*authority.Answer){
		{plain},
		{plain, func(answer *authority.Answer) { answer.Accuracy.Seconds, answer.Accuracy.Millis = 1, 5 }},
		{plain, func(answer *authority.Answer) { answer.Status, answer.Text = 2, "no" }},
		{plain, func(answer *authority.Answer) { answer.Certificates = nil }},
		{plain, func(answer *authority.Answer) { answer.Named, answer.NamedV1 = nil, a.Leaf }},
		{plain, func(answer *authority.Answer) { answer.Digest = crypto.SHA512 }},
		{plain, func(answer *authority.Answer) { answer.Critical = true }},
	} {
		f.Add(a.Over(data, changes...))
	}
	known := []*x509.Certificate{a.Root.Certificate, a.Leaf.Certificate}
	f.Fuzz(func(t *testing.T, response []byte) {
		token, err := timetoken.Parse(response, known)
		if err != nil || token.IssuedUnder(a.Root.Certificate) != nil && token.IssuedUnder(a.Leaf.Certificate) != nil {
			return // anyone can make such a token
		}
		if token.Signer() == "" || !token.Covers(data) || token.NotAfter.Before(at) || token.NotAfter.After(at.Add(2*time.Second)) {
			t.Errorf("a token that nobody signed: %v", token.NotAfter)
		}
	})
}
