package seal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
)

// Policy says whose seals are trusted.
type Policy struct {
	// Trust has the keys of operators and the authorities of time-stamps.
	Trust *sign.Trust
	// Name, if not empty, is the name of the log that seals must have: see OriginOf. Witnesses
	// know a thread by its origin, so cosignatures of several names may be of several histories.
	Name string
	// Witnesses have the keys of the witnesses whose cosignatures count, and Quorum is the
	// number of them that must have cosigned a thread's last seal.
	Witnesses []WitnessKey
	Quorum    int
	// At is the time for which keys are judged if there is no token. The default is the
	// time of the verification.
	At time.Time
}

// WitnessKey verifies the cosignatures of a witness.
type WitnessKey = note.Verifier

// ParseWitness returns the key of a witness in the form NAME+HASH+BASE64 (C2SP signed-note, the
// format of verifier keys).
func ParseWitness(key string) (WitnessKey, error) {
	v, err := cosignature.NewVerifierForCosignatureV1(key)
	if err != nil {
		return nil, errors.New("it is not the key of a witness, NAME+HASH+BASE64")
	}
	return v, nil
}

// Cosigner is a witness that has cosigned a seal.
type Cosigner struct {
	Name string `json:"name"`
	// At is the time of the witness.
	At string `json:"at"`
}

// Signature is what is known of the signatures of a seal.
type Signature struct {
	// Signer is the trusted key that has signed it, or nil.
	Signer *sign.Signatory `json:"signer"`
	// Cosigners are the witnesses that have cosigned it.
	Cosigners []Cosigner `json:"cosigners"`
	// NotLaterThan is the time of a token of a trusted authority.
	NotLaterThan *string `json:"not_later_than"`
	// Authority is the name of that authority.
	Authority *string `json:"authority"`
}

// opened is a seal whose text was read and whose signatures were judged.
type opened struct {
	*Checkpoint
	Signature
	from  string // where it is from, for findings
	known bool   // from elsewhere than the log
	found []finding.Finding
}

// trusted reports whether a trusted key has signed the checkpoint.
func (o *opened) trusted() bool { return o.Signer != nil && !finding.Failed(o.found) }

// open reads a seal and judges its signatures. The checkpoint is nil if it is malformed.
func (p *Policy) open(ctx context.Context, s *store.Seal, from string) *opened {
	o := &opened{from: from, Signature: Signature{Cosigners: []Cosigner{}}}
	add := func(code finding.Code, format string, args ...any) {
		o.found = append(o.found, finding.New(code, "%s: %s", from, fmt.Sprintf(format, args...)))
	}
	origin, _, _ := strings.Cut(string(s.Checkpoint), "\n")
	keys := make(map[uint32]*sign.Signatory)
	var verifiers []note.Verifier
	for by, key := range p.Trust.Trusted() {
		if v, err := verifierOf(origin, key); err == nil {
			verifiers, keys[v.KeyHash()] = append(verifiers, v), &by
		}
	}
	n, err := openNote(s.Checkpoint, append(verifiers, p.Witnesses...)...)
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		n, err = unverified.Note, nil
	}
	if invalid, ok := errors.AsType[*note.InvalidSignatureError](err); ok {
		add(finding.SealBroken, "a signature names the key of %s, but is not valid", finding.Quote(invalid.Name))
		return o
	}
	if err == nil {
		o.Checkpoint, err = parseCheckpoint(n.Text)
	}
	if err == nil && o.Size != s.Size && s.Size != 0 {
		o.Checkpoint, err = nil, fmt.Errorf("the checkpoint is of %d entries, and the log says %d", o.Size, s.Size)
	}
	if err != nil {
		add(finding.SealMalformed, "%s", finding.Printable(err.Error()))
		return o
	}
	if p.Name != "" && o.name() != p.Name {
		add(finding.SealUntrusted, "it is of the log %s", finding.Quote(o.name()))
		return o
	}
	at := p.At
	if at.IsZero() {
		at = time.Now()
	}
	if s.Token != nil {
		notLaterThan, authority, found := p.Trust.JudgeToken(ctx, s.Checkpoint, s.Token)
		o.found = append(o.found, found...)
		if !notLaterThan.IsZero() {
			at = notLaterThan
			o.NotLaterThan, o.Authority = new(artifact.FormatTime(at)), &authority
		}
	}
	untrusted := "no trusted key has signed it"
	for _, sig := range n.Sigs {
		by := keys[sig.Hash]
		if sig.Name != origin || by == nil {
			if signed, err := cosignature.CoSigV1Timestamp(sig); err == nil {
				o.Cosigners = append(o.Cosigners, Cosigner{sig.Name, artifact.FormatTime(signed)})
			}
			continue
		}
		if !p.Trust.Contains(by.KeyID, at) {
			untrusted = fmt.Sprintf("the key %s that has signed it is not trusted as of %s", finding.Quote(by.Name), artifact.FormatTime(at))
			continue
		}
		if o.Signer == nil {
			o.Signer = by
		}
	}
	if o.Signer == nil {
		add(finding.SealUntrusted, "%s", untrusted)
	}
	return o
}

// openNote is note.Open. It also refuses signatures whose Base64 has another form, so that no
// byte of a checkpoint can be changed without an effect.
func openNote(signed []byte, keys ...note.Verifier) (*note.Note, error) {
	n, err := note.Open(signed, note.VerifierList(keys...))
	if _, unverified := errors.AsType[*note.UnverifiedNoteError](err); err != nil && !unverified {
		return nil, err
	}
	for line := range bytes.Lines(signed[bytes.LastIndex(signed, []byte("\n\n"))+1:]) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		encoded := line[bytes.LastIndexByte(line, ' ')+1:]
		if _, strict := base64.StdEncoding.Strict().DecodeString(string(encoded)); strict != nil {
			return nil, errors.New("a signature is not Base64")
		}
	}
	return n, err
}

// verifierOf returns the verifier of a key for the trees of an origin.
func verifierOf(origin string, key *sign.PublicKey) (note.Verifier, error) {
	public := key.Ed25519()
	if public == nil {
		return nil, ErrKeyType
	}
	vkey, err := note.NewEd25519VerifierKey(origin, public)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(vkey)
}

// ErrKeyType means that a key cannot sign checkpoints.
var ErrKeyType = errors.New("seals are signed with Ed25519 keys")

// CanVerify reports whether a key of t can verify seals.
func CanVerify(t *sign.Trust) bool {
	for _, key := range t.Trusted() {
		if key.Ed25519() != nil {
			return true
		}
	}
	return false
}

// VerifierKey returns the key that verifies the seals of a thread in the form that witnesses
// and other programs use: NAME+HASH+BASE64.
func VerifierKey(origin string, key *sign.PublicKey) (string, error) {
	public := key.Ed25519()
	if public == nil {
		return "", ErrKeyType
	}
	return note.NewEd25519VerifierKey(origin, public)
}

// signer is a note.Signer for the trees of an origin.
type signer struct {
	note.Verifier
	ctx context.Context
	by  sign.Signer
}

// Sign implements note.Signer. It verifies the signature: signers can be programs.
func (s signer) Sign(message []byte) ([]byte, error) {
	signature, err := s.by.Sign(s.ctx, message)
	if err == nil && !s.Verify(message, signature) {
		err = finding.New(finding.SignerFailed, "the signature of the checkpoint is not valid")
	}
	return signature, err
}

// signText signs the text of a checkpoint.
func signText(ctx context.Context, origin, text string, signers []sign.Signer) ([]byte, error) {
	var all []note.Signer
	for _, by := range signers {
		v, err := verifierOf(origin, by.Public())
		if err != nil {
			return nil, err
		}
		all = append(all, signer{v, ctx, by})
	}
	return note.Sign(&note.Note{Text: text}, all...)
}

// appendSignatures appends the lines with signatures that a witness returned to a signed
// checkpoint, if keys verify them and it does not have them yet. It returns the names of the keys.
func appendSignatures(signed, lines []byte, keys []note.Verifier) ([]byte, []string, error) {
	_, err := openNote(signed)
	own, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok {
		return nil, nil, fmt.Errorf("the checkpoint cannot be read: %w", err)
	}
	n, err := openNote(slices.Concat([]byte(own.Note.Text), []byte("\n"), lines), keys...)
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return nil, nil, fmt.Errorf("its answer has no signature by a known key of a witness, but by %s", namesOf(unverified.Note.UnverifiedSigs))
	}
	if err != nil || n.Text != own.Note.Text {
		return nil, nil, errors.New("its answer is not a valid cosignature")
	}
	all := *own.Note
	all.Sigs, all.UnverifiedSigs = all.UnverifiedSigs, nil
	var names []string
	for _, sig := range n.Sigs {
		if !slices.ContainsFunc(all.Sigs, func(s note.Signature) bool { return s.Name == sig.Name && s.Hash == sig.Hash }) {
			all.Sigs, names = append(all.Sigs, sig), append(names, sig.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("its answer has only cosignatures by %s, which the seal already has", namesOf(n.Sigs))
	}
	out, err := note.Sign(&all)
	return out, names, err
}

func namesOf(signatures []note.Signature) string {
	var names []string
	for _, s := range signatures {
		names = append(names, finding.Quote(s.Name))
	}
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}
