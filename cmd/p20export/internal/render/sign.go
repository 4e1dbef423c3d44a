package render

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/sign"
)

// KeyPair is a new pair of keys.
type KeyPair struct {
	// PrivateKey is the path of the private key.
	PrivateKey string `json:"private_key"`
	// PublicKey is the path of the public key.
	PublicKey string `json:"public_key"`
	// KeyID is the key id that signatures with the key have.
	KeyID string `json:"key_id"`
	// Type is the kind of the keys.
	Type sign.KeyType `json:"key_type"`
}

// KeyPair prints a new pair of keys.
func (p *Printer) KeyPair(row KeyPair) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s  %s", p.verdict(project.Written), row.PrivateKey, string(row.Type))
	p.Line("  public    \t%s", row.PublicKey)
	p.Line("  key id    \t%s", row.KeyID)
}

// Signed prints the result of signing a record.
func (p *Printer) Signed(row sign.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	if row.Signature == nil {
		p.Line("%s \t%s", p.verdict(row.Verdict), row.Record)
	} else {
		p.Line("%s \t%s", p.verdict(row.Verdict), *row.Signature)
		p.Line("  record    \t%s", row.Record)
	}
	for _, id := range row.KeyIDs {
		p.Line("  key id    \t%s", id)
	}
	if row.Timestamp != nil {
		p.Line("  token     \t%s  %s", *row.Timestamp, *row.NotLaterThan)
	}
	p.Findings(row.Findings)
}

// SignSummary prints the number of records by verdict.
func (p *Printer) SignSummary(t *Tally) {
	p.Note("%s", verdictCounts(t.counts, project.Written, project.Skipped, project.Refused, project.Failed))
}

// signature prints the state of the signature of a record.
func (p *Printer) signature(s *sign.Signature) {
	if s == nil {
		return
	}
	colour := yellow
	switch s.State {
	case sign.IsSigned:
		colour = green
	case sign.IsBroken:
		colour = red
	}
	text := ""
	if len(s.Signers) > 0 && s.State != sign.IsBroken {
		var names []string
		for _, one := range s.Signers {
			names = append(names, fmt.Sprintf("%s (%s)", one.Name, one.Type))
		}
		text = " by " + strings.Join(names, ", ")
	}
	p.Line("  signature \t%s%s", p.Paint(colour, string(s.State)), text)
	if s.NotLaterThan != nil {
		p.Line("  time      \tnot later than %s, according to %s", *s.NotLaterThan, *s.Authority)
	}
	if s.JudgedAt != nil && *s.JudgedBy != sign.FromToken {
		p.Line("  judged    \tas of %s (%s)", *s.JudgedAt, string(*s.JudgedBy))
	}
}
