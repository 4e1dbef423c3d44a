package sign

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project/sign/timetoken"
)

// Settings say how records are signed.
type Settings struct {
	// Signers sign each record, at least one unless only tokens are asked for.
	Signers []Signer
	// Authority is the http or https URL of a time-stamp authority (RFC 3161), or empty.
	Authority string
}

// Made is the signature of a record as Make returns it.
type Made struct {
	Files
	// NewEnvelope and NewToken report whether a file is new or has more than before.
	NewEnvelope, NewToken bool
	// NotLaterThan is the time of the token, which is not verified; it is zero if there
	// is none.
	NotLaterThan time.Time
	KeyIDs       []string // of the signers
}

// Make returns the files of the signature of a record, given its bytes and the files that
// exist. It keeps existing signatures and an existing token, and adds what is missing. It
// fails if an existing file is not of the record, and if a signature is to be added to one
// that has a token, which would not cover it.
func (s *Settings) Make(ctx context.Context, record []byte, existing Files) (Made, error) {
	made := Made{Files: existing}
	if existing.Envelope == nil && existing.Token != nil {
		return made, finding.New(finding.TokenOfAnother, "there is a time-stamp, but not the signature that it is of")
	}
	e := &Envelope{PayloadType: PayloadType, Payload: record}
	if existing.Envelope != nil {
		var err error
		if e, err = Decode(existing.Envelope); err != nil {
			return made, finding.New(finding.SignatureMalformed, "%s", finding.Printable(err.Error()))
		}
		if err := e.isOf(record); err != nil {
			return made, err
		}
	}
	before := len(e.Signatures)
	if err := e.add(ctx, s.Signers); err != nil {
		return made, err
	}
	if len(e.Signatures) == 0 {
		return made, finding.New(finding.SignatureMissing, "the record is not signed, and a time-stamp is over a signature").WithHint("%s", hint.SignFirst)
	}
	if len(e.Signatures) > before {
		if existing.Token != nil {
			return made, finding.New(finding.TokenOfAnother, "the signature has a time-stamp, which would not cover another signature").WithHint("sign with all keys before the time-stamp is made")
		}
		var err error
		if made.Envelope, err = e.Encode(); err != nil {
			return made, err
		}
		made.NewEnvelope = true
	}
	for _, one := range s.Signers {
		made.KeyIDs = append(made.KeyIDs, one.Public().ID)
	}
	return made, made.stamp(ctx, s.Authority)
}

// IsMade reports whether Make would add nothing to the files of the signature of a record.
func (s *Settings) IsMade(record []byte, files Files) bool {
	if files.Envelope == nil || s.Authority != "" && files.Token == nil {
		return false
	}
	e, err := Decode(files.Envelope)
	if err != nil || e.isOf(record) != nil {
		return false
	}
	message := e.message()
	for _, one := range s.Signers {
		if signed, err := e.hasSignature(one.Public(), message); !signed || err != nil {
			return false
		}
	}
	if files.Token == nil {
		return true
	}
	t, err := timetoken.Parse(files.Token, nil)
	return (err == nil || errors.Is(err, timetoken.ErrUnknownSigner)) && t.Covers(files.Envelope)
}

// stamp adds a token of the authority, unless there is one or the URL is empty.
func (m *Made) stamp(ctx context.Context, authority string) error {
	if m.Token != nil {
		t, err := timetoken.Parse(m.Token, nil)
		if err != nil && !errors.Is(err, timetoken.ErrUnknownSigner) {
			return tokenFinding(err)
		}
		if !t.Covers(m.Envelope) {
			return finding.New(finding.TokenOfAnother, "the existing time-stamp is not of this signature")
		}
		m.NotLaterThan = t.NotAfter
		return nil
	}
	if authority == "" {
		return nil
	}
	var err error
	m.Token, m.NotLaterThan, err = Stamp(ctx, authority, m.Envelope)
	m.NewToken = err == nil
	return err
}

// Stamp asks an authority for a token over data, and returns it with its time, which is not
// verified.
func Stamp(ctx context.Context, authority string, data []byte) (token []byte, notLaterThan time.Time, _ error) {
	response, t, err := timetoken.Request(ctx, authority, data)
	if err != nil {
		if ctx.Err() != nil {
			return nil, time.Time{}, context.Cause(ctx)
		}
		return nil, time.Time{}, finding.New(finding.TokenRefused, "%s: %s", finding.QuoteURL(authority), finding.Printable(finding.ErrorText(err)))
	}
	return response, t.NotAfter, nil
}

// isAbsent reports whether an error says that a file does not exist.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
