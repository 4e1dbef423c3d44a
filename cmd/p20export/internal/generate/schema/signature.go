package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/project/sign"
)

type (
	signatureFile struct {
		PayloadType string         `json:"payloadType"`
		Payload     string         `json:"payload"`
		Signatures  []oneSignature `json:"signatures"`
	}
	oneSignature struct {
		KeyID string `json:"keyid,omitempty"`
		Sig   string `json:"sig"`
	}
)

// base64Text is one of the two alphabets that DSSE allows, with padding.
const base64Text = `^(([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?|([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?)$`

// signature generates the schema of the signature of a record. Members that DSSE does not
// have are ignored, as it demands.
func (g *generator) signature() (*jsonschema.Schema, error) {
	s := g.reflect(signatureFile{}, true)
	example, err := signedExample()
	if err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(example)}
	return s, apply(s, []rule{
		{"", nil, "A DSSE envelope with the signatures of a record."},
		{"payloadType", constant(sign.PayloadType), "The type of the payload: an in-toto Statement."},
		{"payload", matching(base64Text), "The exact bytes of the record, in base64."},
		{"signatures", func(s *jsonschema.Schema) { s.MinItems, s.MaxItems = uintPtr(1), uintPtr(sign.MaxSignatures) }, "The signatures, each over the pre-authentication encoding of type and payload."},
		{"signatures/*", nil, "One signature."},
		{"signatures/*/keyid", nil, "The id of the key: a hint, which is not signed. This program writes the SHA-256 of the key in the form of securesystemslib, in hex."},
		{"signatures/*/sig", matching(base64Text), "The signature in base64: 64 bytes for Ed25519, ASN.1 DER for ECDSA."},
	})
}

// signedExample returns the signature of a record of the sample lane, by a key that everyone
// can compute and nobody trusts.
func signedExample() ([]byte, error) {
	record, err := os.ReadFile(sample + "frozen/finished.record.json")
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		return nil, err
	}
	key, err := sign.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	if err != nil {
		return nil, err
	}
	signed, err := sign.Sign(context.Background(), sign.PayloadType, record, key)
	return bytes.TrimSpace(signed), err
}
