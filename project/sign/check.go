package sign

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign/timetoken"
)

// State says what the signatures of a record are worth to a verifier.
type State string

// The states.
const (
	// IsSigned means that enough trusted keys have signed the record.
	IsSigned State = "signed"
	// IsUnsigned means that there is no signature.
	IsUnsigned State = "unsigned"
	// IsUntrusted means that there are signatures, but too few by trusted keys.
	IsUntrusted State = "untrusted"
	// IsBroken means that a signature or a token is not what it claims to be.
	IsBroken State = "broken"
)

// Signature is what is known of the signatures of a record.
type Signature struct {
	// State is the conclusion.
	State State `json:"state"`
	// Signers are the trusted keys whose signatures are valid.
	Signers []Signatory `json:"signers"`
	// NotLaterThan is the time of a valid token by a trusted authority, with the accuracy
	// that it states: the signatures existed then.
	NotLaterThan *string `json:"not_later_than"`
	// Authority is the name of the authority of the token.
	Authority *string `json:"authority"`
	// JudgedAt is the time for which it was decided whether the keys are valid.
	JudgedAt *string `json:"judged_at"`
	// JudgedBy says where that time is from: token, given (by the verifier) or clock.
	JudgedBy *Clock `json:"judged_by"`
}

// Signatory is a trusted key that has signed a record.
type Signatory struct {
	// Name is that of the trust file.
	Name string `json:"name"`
	// KeyID is the key id that this program gives the key.
	KeyID string `json:"key_id"`
	// Type is the kind of the key.
	Type KeyType `json:"key_type"`
}

// Clock is the source of the time for which keys are judged.
type Clock string

// The sources.
const (
	FromToken Clock = "token"
	FromGiven Clock = "given"
	FromClock Clock = "clock"
)

// Policy says what a verifier demands of the signatures of records.
type Policy struct {
	// Trust says which keys and authorities are trusted. If it is nil, only the form of
	// the files is checked, and that they belong to their record.
	Trust *Trust
	// RequireSignature and RequireTimestamp make missing signatures and tokens errors.
	RequireSignature, RequireTimestamp bool
	// Threshold is the number of trusted keys that must have signed. The default is 1.
	Threshold int
	// At is the time for which keys are judged if there is no token. The default is the
	// time of the verification.
	At time.Time

	now func() time.Time // time.Now, if nil
}

// skew is the time by which a token may be ahead of the clock of the verifier.
const skew = 10 * time.Minute

// Files are the files of the signature of a record. Data that is nil does not exist.
type Files struct {
	Envelope, Token []byte
}

// Read reads the files of the signature of a record with read, which must behave like
// record.ReadBounded. An error is a finding, or that of reading a file.
func Read(path string, size int, read func(path string, limit int) ([]byte, error)) (f Files, err error) {
	if f.Envelope, err = readOne(record.SignaturePath(path), MaxEnvelopeBytes(size), finding.SignatureMalformed, read); err == nil {
		f.Token, err = readOne(record.TimestampPath(path), timetoken.MaxBytes, finding.TokenMalformed, read)
	}
	return f, err
}

func readOne(path string, limit int, code finding.Code, read func(path string, limit int) ([]byte, error)) ([]byte, error) {
	data, err := read(path, limit)
	switch {
	case isAbsent(err):
		return nil, nil
	case errors.Is(err, record.ErrTooLong):
		return nil, finding.New(code, "%s has more than %d bytes", finding.Quote(filepath.Base(path)), limit)
	case err != nil:
		return nil, err
	}
	return append([]byte{}, data...), nil
}

// Check judges the signature of a record, given its bytes. It returns nil for the signature
// if the policy has no trust. After the end of ctx, the result is incomplete.
func (p *Policy) Check(ctx context.Context, data []byte, files Files) (*Signature, []finding.Finding) {
	c := &check{ctx: ctx, policy: p, result: Signature{State: IsUnsigned, Signers: []Signatory{}}}
	var e *Envelope
	if files.Envelope != nil {
		e = c.envelope(data, files.Envelope)
	}
	token := c.token(files)
	if p.Trust == nil {
		if files.Envelope != nil && !finding.Failed(c.found) {
			c.add(finding.New(finding.SignatureUnjudged, "the record has signatures, which were not judged"))
		}
		return nil, c.found
	}
	var valid []*trustedKey
	if e != nil {
		valid = c.signatures(e)
	}
	for _, k := range c.judge(token, valid) {
		c.result.Signers = append(c.result.Signers, Signatory{k.name, k.ID, k.Type})
	}
	c.conclude(files)
	return &c.result, c.found
}

// Unread returns what Check returns for files that cannot be read.
func (p *Policy) Unread() *Signature {
	if p.Trust == nil {
		return nil
	}
	return &Signature{State: IsBroken, Signers: []Signatory{}}
}

// check is the checking of one signature.
type check struct {
	ctx    context.Context
	policy *Policy
	tried  int // keys that were tried for signatures without the id of one
	result Signature
	found  []finding.Finding
}

func (c *check) add(f finding.Finding) { c.found = append(c.found, f) }

// envelope decodes the DSSE envelope, and checks that it is of the record. It returns nil if
// it is not.
func (c *check) envelope(data, envelope []byte) *Envelope {
	e, err := Decode(envelope)
	if err != nil {
		c.add(finding.New(finding.SignatureMalformed, "%s", finding.Printable(err.Error())))
		return nil
	}
	if err := e.isOf(data); err != nil {
		f, _ := finding.FromError(err)
		c.add(f)
		return nil
	}
	return e
}

// signatures returns the trusted keys whose signatures are valid, each once.
func (c *check) signatures(e *Envelope) (valid []*trustedKey) {
	trust, message := c.policy.Trust, e.message()
	for i, s := range e.Signatures {
		by := trust.named(s.KeyID)
		if c.ctx.Err() != nil {
			return nil
		}
		if by != nil && !by.Verify(message, s.Bytes) {
			c.add(finding.New(finding.SignatureBroken, "signature %d names the trusted key %s, but is not valid", i+1, finding.Quote(by.name)))
			continue
		}
		if by == nil {
			// The key id is only a hint, which other programs leave out.
			at := slices.IndexFunc(trust.keys, func(k trustedKey) bool { return c.mayTry(message) && k.Verify(message, s.Bytes) })
			if at < 0 {
				c.add(finding.New(finding.SignatureUntrusted, "signature %d%s is not by a trusted key", i+1, quoteID(s.KeyID)))
				continue
			}
			by = &trust.keys[at]
		}
		if slices.Contains(valid, by) {
			c.add(finding.New(finding.SignatureRepeated, "signature %d is another one of the key %s, which counts once", i+1, finding.Quote(by.name)))
			continue
		}
		valid = append(valid, by)
	}
	return valid
}

// The limits for trying all keys for the signatures of one record, which may be many and large.
const (
	maxTries     = 4096
	maxTriedSize = 1 << 30 // bytes of the message, added up
)

// mayTry reports whether another key may be tried for a signature that names none.
func (c *check) mayTry(message []byte) bool {
	if c.ctx.Err() != nil || c.tried >= maxTries || c.tried*len(message) >= maxTriedSize {
		return false
	}
	c.tried++
	return true
}

func quoteID(id string) string {
	switch {
	case id == "":
		return ""
	case len(id) <= 2*sha256.Size:
		return " with the key id " + finding.Escape(id)
	}
	return " with the key id " + finding.Quote(id)
}

// token parses the token and checks what needs no trust. It returns nil if there is none.
func (c *check) token(files Files) *timetoken.Token {
	if files.Token == nil {
		return nil
	}
	if files.Envelope == nil {
		c.add(finding.New(finding.TokenOfAnother, "there is a time-stamp, but no signature that it could be of"))
		return nil
	}
	var known []*x509.Certificate
	if c.policy.Trust != nil {
		known = c.policy.Trust.certificates()
	}
	t, err := timetoken.Parse(files.Token, known)
	unknown := errors.Is(err, timetoken.ErrUnknownSigner)
	switch {
	case err != nil && !unknown:
		c.add(tokenFinding(err))
		return nil
	case !t.Covers(files.Envelope):
		c.add(finding.New(finding.TokenOfAnother, "the time-stamp is not of this signature: the digest differs"))
		return nil
	case unknown && c.policy.Trust != nil:
		c.add(finding.New(finding.TokenUntrusted, "%v", err))
	}
	if unknown {
		return nil
	}
	return t
}

// tokenFinding returns the finding for an error of package timetoken.
func tokenFinding(err error) finding.Finding {
	code := finding.TokenBroken
	if _, refused := errors.AsType[*timetoken.RefusedError](err); refused || errors.Is(err, timetoken.ErrMalformed) {
		code = finding.TokenMalformed
	}
	return finding.New(code, "%s", finding.Printable(err.Error()))
}

// judge sets the time of the token, and that for which keys are judged. It returns the keys
// that are trusted at that time.
func (c *check) judge(t *timetoken.Token, keys []*trustedKey) (valid []*trustedKey) {
	now := time.Now
	if c.policy.now != nil {
		now = c.policy.now
	}
	at, by := c.policy.At, FromGiven
	if at.IsZero() {
		at, by = now(), FromClock
	}
	if authority := c.authority(t, now()); authority != nil {
		at, by = t.NotAfter, FromToken
		c.result.NotLaterThan, c.result.Authority = new(artifact.FormatTime(ceil(t.NotAfter))), &authority.name
	}
	if by == FromClock && !slices.ContainsFunc(keys, func(k *trustedKey) bool { return k.isLimited() }) {
		return keys
	}
	c.result.JudgedAt, c.result.JudgedBy = new(artifact.FormatTime(ceil(at))), &by
	for _, k := range keys {
		if k.contains(at) {
			valid = append(valid, k)
			continue
		}
		f := finding.New(finding.SignatureExpired, "the key %s is trusted only %s, and is judged as of %s (%s)", finding.Quote(k.name), k.period, artifact.FormatTime(ceil(at)), by)
		if by == FromToken {
			f = f.WithHint("have the record signed with a key that is trusted now")
		}
		c.add(f)
	}
	return valid
}

// ceil rounds up to microseconds, the precision of times in rows.
func ceil(t time.Time) time.Time {
	if down := t.UTC().Truncate(time.Microsecond); !down.Equal(t) {
		return down.Add(time.Microsecond)
	}
	return t.UTC()
}

// authority returns the trusted authority of the token, or nil.
func (c *check) authority(t *timetoken.Token, now time.Time) *trustedAuthority {
	if t == nil {
		return nil
	}
	expired := ""
	for i, a := range c.policy.Trust.authorities {
		switch err := t.IssuedUnder(a.certificate); {
		case err != nil && timetoken.IsExpired(err):
			expired = fmt.Sprintf("the certificates under %s were not valid at the time of the token, %s", finding.Quote(a.name), artifact.FormatTime(ceil(t.NotAfter)))
		case err != nil:
		case !a.contains(t.NotAfter):
			expired = fmt.Sprintf("the authority %s is trusted only %s; the token is of %s", finding.Quote(a.name), a.period, artifact.FormatTime(ceil(t.NotAfter)))
		case t.NotAfter.After(now.Add(skew)):
			c.add(finding.New(finding.TokenFuture, "the token is of %s, which is later than now, %s", artifact.FormatTime(ceil(t.NotAfter)), artifact.FormatTime(now)))
			return nil
		default:
			return &c.policy.Trust.authorities[i]
		}
	}
	if expired != "" {
		c.add(finding.New(finding.TokenExpired, "%s", expired))
	} else {
		c.add(finding.New(finding.TokenUntrusted, "no trusted authority has issued the certificate %s of the token", finding.Quote(t.Signer())))
	}
	return nil
}

// conclude sets the state, and adds what is missing.
func (c *check) conclude(files Files) {
	p, r := c.policy, &c.result
	threshold := max(1, p.Threshold)
	switch {
	case finding.Failed(c.found):
		r.State = IsBroken
		return
	case files.Envelope == nil:
	case len(r.Signers) >= threshold:
		r.State = IsSigned
	default:
		r.State = IsUntrusted
	}
	if r.State != IsSigned && (p.RequireSignature || p.RequireTimestamp) {
		c.add(finding.New(finding.SignatureMissing, "%d of the %d required trusted keys have signed the record and count", len(r.Signers), threshold))
	}
	if r.NotLaterThan == nil && p.RequireTimestamp {
		c.add(finding.New(finding.TokenMissing, "no token of a trusted authority says when the signature existed"))
	}
}
