// Package sign signs records and verifies their signatures and time-stamps. A signature is
// a DSSE envelope whose payload is the exact bytes of the record, which covers the
// artifact, the envelope and the capture through the digests in it. A time-stamp token
// covers the bytes of the DSSE envelope with all signatures in it.
//
// A signature shows who had the key. It does not show that a capture is true, and without a
// token not when it was made.
package sign

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/finding"
)

// PayloadType is the type of the payload of the DSSE envelopes: an in-toto Statement.
const PayloadType = "application/vnd.in-toto+json"

// The limits of a DSSE envelope, beside its payload.
const (
	MaxSignatures = 64
	maxOverhead   = 256 << 10 // bytes of a file in addition to the payload
	maxKeyID      = 1024
	maxSignature  = 1024 // bytes, decoded
)

// MaxEnvelopeBytes returns the largest size of a DSSE envelope with a payload of n bytes.
func MaxEnvelopeBytes(n int) int { return base64.StdEncoding.EncodedLen(n) + maxOverhead }

// Envelope is a decoded DSSE envelope.
type Envelope struct {
	PayloadType string
	Payload     []byte
	Signatures  []Signed
}

// Signed is one signature of an envelope.
type Signed struct {
	KeyID string
	Bytes []byte
}

// encoded is the JSON of an envelope.
type encoded struct {
	PayloadType string             `json:"payloadType"`
	Payload     string             `json:"payload"`
	Signatures  []encodedSignature `json:"signatures"`
}

type encodedSignature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// Decode reads a DSSE envelope. Members that the DSSE specification does not have are
// ignored, as it demands; repeated members, and base64 in another than its one form, are
// not accepted.
func Decode(data []byte) (*Envelope, error) {
	var raw struct {
		PayloadType *string `json:"payloadType"`
		Payload     *string `json:"payload"`
		Signatures  *[]struct {
			KeyID string  `json:"keyid"`
			Sig   *string `json:"sig"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("it is not JSON of a DSSE envelope: %w", err)
	}
	if raw.PayloadType == nil || raw.Payload == nil || raw.Signatures == nil {
		return nil, errors.New("one of payloadType, payload and signatures is missing")
	}
	e := &Envelope{PayloadType: *raw.PayloadType}
	var err error
	if e.Payload, err = decodeBase64(*raw.Payload); err != nil {
		return nil, fmt.Errorf("the payload: %w", err)
	}
	switch n := len(*raw.Signatures); {
	case n == 0:
		return nil, errors.New("it has no signature")
	case n > MaxSignatures:
		return nil, fmt.Errorf("it has %d signatures; the limit is %d", n, MaxSignatures)
	}
	for i, s := range *raw.Signatures {
		one := Signed{KeyID: s.KeyID}
		switch {
		case s.Sig == nil:
			return nil, fmt.Errorf("signature %d has no sig", i+1)
		case len(s.KeyID) > maxKeyID:
			return nil, fmt.Errorf("the key id of signature %d has %d bytes; the limit is %d", i+1, len(s.KeyID), maxKeyID)
		case len(*s.Sig) > base64.StdEncoding.EncodedLen(maxSignature):
			return nil, fmt.Errorf("signature %d has more than %d bytes", i+1, maxSignature)
		}
		if one.Bytes, err = decodeBase64(*s.Sig); err != nil {
			return nil, fmt.Errorf("signature %d: %w", i+1, err)
		}
		e.Signatures = append(e.Signatures, one)
	}
	return e, nil
}

// decodeBase64 decodes one of the two alphabets that DSSE allows, with padding.
func decodeBase64(s string) ([]byte, error) {
	encoding := base64.StdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.URLEncoding
	}
	data, err := encoding.Strict().DecodeString(s)
	if err == nil && strings.ContainsAny(s, "\r\n") {
		err = errors.New("base64 with line breaks")
	}
	return data, err
}

// Encode returns the envelope as one line of JSON.
func (e *Envelope) Encode() ([]byte, error) {
	raw := encoded{PayloadType: e.PayloadType, Payload: base64.StdEncoding.EncodeToString(e.Payload)}
	for _, s := range e.Signatures {
		raw.Signatures = append(raw.Signatures, encodedSignature{KeyID: s.KeyID, Sig: base64.StdEncoding.EncodeToString(s.Bytes)})
	}
	data, err := json.Marshal(raw)
	return append(data, '\n'), err
}

// message returns the bytes that are signed: the pre-authentication encoding (PAE) of DSSE.
func (e *Envelope) message() []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

// A Signer signs messages with one key.
type Signer interface {
	Public() *PublicKey
	// Sign returns a signature of the message. For ECDSA, it is over the SHA-256 of the
	// message, in ASN.1 DER.
	Sign(ctx context.Context, message []byte) ([]byte, error)
}

// add adds a signature of each signer whose key has none yet. It verifies what it adds.
func (e *Envelope) add(ctx context.Context, signers []Signer) error {
	message := e.message()
	for _, s := range signers {
		if signed, err := e.hasSignature(s.Public(), message); signed || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if len(e.Signatures) == MaxSignatures {
			return fmt.Errorf("a DSSE envelope has at most %d signatures", MaxSignatures)
		}
		signature, err := s.Sign(ctx, message)
		if err != nil {
			return err
		}
		if !s.Public().Verify(message, signature) {
			return finding.New(finding.SignerFailed, "the signature that was made with the key %s is not valid", s.Public().ID)
		}
		e.Signatures = append(e.Signatures, Signed{s.Public().ID, signature})
	}
	return nil
}

// hasSignature reports whether a key has signed the message. A signature that names the key
// and is not valid is an error.
func (e *Envelope) hasSignature(k *PublicKey, message []byte) (found bool, _ error) {
	for i, s := range e.Signatures {
		if !k.isNamed(s.KeyID) {
			continue
		}
		if !k.Verify(message, s.Bytes) {
			return false, finding.New(finding.SignatureBroken, "signature %d names the key %s, but is not valid", i+1, k.ID)
		}
		found = true
	}
	return found, nil
}

// Sign returns a DSSE envelope with the payload and a signature of each signer.
func Sign(ctx context.Context, payloadType string, payload []byte, signers ...Signer) ([]byte, error) {
	if len(signers) == 0 {
		return nil, errors.New("there is no key to sign with")
	}
	e := &Envelope{PayloadType: payloadType, Payload: payload}
	if err := e.add(ctx, signers); err != nil {
		return nil, err
	}
	return e.Encode()
}

// isOf reports whether the envelope has exactly these bytes as its payload, of the type of
// records.
func (e *Envelope) isOf(record []byte) error {
	switch {
	case e.PayloadType != PayloadType:
		return finding.New(finding.SignatureOfAnother, "the payload type is %s; that of a record is %s", finding.Quote(e.PayloadType), PayloadType)
	case !bytes.Equal(e.Payload, record):
		return finding.New(finding.SignatureOfAnother, "the payload is not the bytes of the record")
	}
	return nil
}
