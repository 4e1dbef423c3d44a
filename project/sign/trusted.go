package sign

import (
	"context"
	"iter"
	"time"

	"github.com/p20export/p20export/finding"
)

// Trusted returns the trusted keys with their names.
func (t *Trust) Trusted() iter.Seq2[Signatory, *PublicKey] {
	return func(yield func(Signatory, *PublicKey) bool) {
		for i := range t.keys {
			if k := &t.keys[i]; !yield(Signatory{k.name, k.ID, k.Type}, k.PublicKey) {
				return
			}
		}
	}
}

// Contains reports whether a key is trusted at a time.
func (t *Trust) Contains(keyID string, at time.Time) bool {
	k := t.named(keyID)
	return k != nil && k.contains(at)
}

// JudgeToken judges a time-stamp token over data. If it is valid and of a trusted authority,
// data existed at the time that it returns; otherwise that is zero, and the findings say why.
func (t *Trust) JudgeToken(ctx context.Context, data, token []byte) (notLaterThan time.Time, authority string, found []finding.Finding) {
	c := &check{ctx: ctx, policy: &Policy{Trust: t}}
	parsed := c.token(Files{Envelope: data, Token: token})
	if by := c.authority(parsed, time.Now()); by != nil {
		return ceil(parsed.NotAfter), by.name, c.found
	}
	return time.Time{}, "", c.found
}
