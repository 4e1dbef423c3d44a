package authority

import (
	"crypto"
	"crypto/rand"
	_ "crypto/sha1" // tokens that must be refused have digests by SHA-1
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"time"
)

// Answer is what a response says.
type Answer struct {
	Status int    // 0: granted
	Text   string // of the status
	// What the token says.
	Version  int
	Hash     crypto.Hash
	Imprint  []byte
	Nonce    *big.Int // nil: none
	Time     time.Time
	Accuracy Accuracy
	Critical bool // with an unknown critical extension
	// How it is signed.
	ContentType  asn1.ObjectIdentifier
	Signers      []*Certificate
	Digest       crypto.Hash  // of the signature
	SigningTime  time.Time    // zero: none
	Named        *Certificate // in ESSCertIDv2; nil: none
	NamedV1      *Certificate // in ESSCertID; nil: none
	Unattributed bool         // without signed attributes
	Certificates []*Certificate
	// Change changes the content after it was signed.
	Change func(info []byte)
}

// Accuracy is how exact a time is.
type Accuracy struct {
	Seconds int `asn1:"optional"`
	Millis  int `asn1:"optional,tag:0"`
	Micros  int `asn1:"optional,tag:1"`
}

func oid(numbers ...int) asn1.ObjectIdentifier { return numbers }

// Object identifiers.
var (
	TSTInfo = oid(1, 2, 840, 113549, 1, 9, 16, 1, 4)
	Data    = oid(1, 2, 840, 113549, 1, 7, 1)
)

func hashOID(h crypto.Hash) asn1.ObjectIdentifier {
	switch h {
	case crypto.SHA1:
		return oid(1, 3, 14, 3, 2, 26)
	case crypto.SHA384:
		return oid(2, 16, 840, 1, 101, 3, 4, 2, 2)
	case crypto.SHA512:
		return oid(2, 16, 840, 1, 101, 3, 4, 2, 3)
	}
	return oid(2, 16, 840, 1, 101, 3, 4, 2, 1)
}

// signatureOID returns the identifier of ECDSA with a digest.
func signatureOID(h crypto.Hash) asn1.ObjectIdentifier {
	switch h {
	case crypto.SHA1:
		return oid(1, 2, 840, 10045, 4, 1)
	case crypto.SHA384:
		return oid(1, 2, 840, 10045, 4, 3, 3)
	case crypto.SHA512:
		return oid(1, 2, 840, 10045, 4, 3, 4)
	}
	return oid(1, 2, 840, 10045, 4, 3, 2)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func sum(h crypto.Hash, data []byte) []byte {
	hash := h.New()
	hash.Write(data)
	return hash.Sum(nil)
}

// tagged returns a value with the context-specific tag n that contains values.
func tagged(n int, contents []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: n, IsCompound: true, Bytes: contents}
}

// info returns the TSTInfo.
func (a *Answer) info() []byte {
	var extensions []pkix.Extension
	if a.Critical {
		extensions = []pkix.Extension{{Id: oid(1, 2, 3), Critical: true, Value: []byte{5, 0}}}
	}
	type imprint struct {
		Hash   pkix.AlgorithmIdentifier
		Digest []byte
	}
	return must(asn1.Marshal(struct {
		Version    int
		Policy     asn1.ObjectIdentifier
		Imprint    imprint
		Serial     *big.Int
		Time       time.Time        `asn1:"generalized"`
		Accuracy   Accuracy         `asn1:"optional"`
		Nonce      *big.Int         `asn1:"optional"`
		Extensions []pkix.Extension `asn1:"optional,tag:1,omitempty"`
	}{a.Version, oid(1, 2, 3, 4), imprint{pkix.AlgorithmIdentifier{Algorithm: hashOID(a.Hash)}, a.Imprint}, serial(), a.Time.UTC(), a.Accuracy, a.Nonce, extensions}))
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values []asn1.RawValue `asn1:"set"`
}

func newAttribute(id asn1.ObjectIdentifier, value any) attribute {
	return attribute{id, []asn1.RawValue{{FullBytes: must(asn1.Marshal(value))}}}
}

// attributes returns the signed attributes as a SET.
func (a *Answer) attributes(info []byte) []byte {
	list := []attribute{
		newAttribute(oid(1, 2, 840, 113549, 1, 9, 3), a.ContentType),
		newAttribute(oid(1, 2, 840, 113549, 1, 9, 4), sum(a.Digest, info)),
	}
	if !a.SigningTime.IsZero() {
		list = append(list, newAttribute(oid(1, 2, 840, 113549, 1, 9, 5), a.SigningTime.UTC()))
	}
	type id struct{ Digest []byte }
	type ids struct{ Certs []id }
	if a.Named != nil {
		list = append(list, newAttribute(oid(1, 2, 840, 113549, 1, 9, 16, 2, 47), ids{[]id{{sum(crypto.SHA256, a.Named.Raw)}}}))
	}
	if a.NamedV1 != nil {
		list = append(list, newAttribute(oid(1, 2, 840, 113549, 1, 9, 16, 2, 12), ids{[]id{{sum(crypto.SHA1, a.NamedV1.Raw)}}}))
	}
	return must(asn1.MarshalWithParams(list, "set"))
}

type signer struct {
	Version int
	ID      struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	Digest     pkix.AlgorithmIdentifier
	Attributes asn1.RawValue `asn1:"optional"`
	Algorithm  pkix.AlgorithmIdentifier
	Signature  []byte
}

func (a *Answer) sign(c *Certificate, info []byte) signer {
	s := signer{Version: 1, Digest: pkix.AlgorithmIdentifier{Algorithm: hashOID(a.Digest)}, Algorithm: pkix.AlgorithmIdentifier{Algorithm: signatureOID(a.Digest)}}
	s.ID.Issuer, s.ID.Serial = asn1.RawValue{FullBytes: c.RawIssuer}, c.SerialNumber
	signed := info
	if !a.Unattributed {
		signed = a.attributes(info)
		var set asn1.RawValue
		must(asn1.Unmarshal(signed, &set))
		s.Attributes = tagged(0, set.Bytes)
	}
	s.Signature = must(c.key.Sign(rand.Reader, sum(a.Digest, signed), a.Digest))
	return s
}

// encode returns the response.
func (a *Answer) encode() []byte {
	type status struct {
		Status int
		Text   []asn1.RawValue `asn1:"optional,omitempty"`
	}
	stated := status{Status: a.Status}
	if a.Text != "" {
		stated.Text = []asn1.RawValue{{Tag: asn1.TagUTF8String, Bytes: []byte(a.Text)}}
	}
	if a.Status > 1 {
		return must(asn1.Marshal(struct{ Status status }{stated}))
	}
	info := a.info()
	var signers []signer
	for _, c := range a.Signers {
		signers = append(signers, a.sign(c, info))
	}
	if a.Change != nil {
		a.Change(info)
	}
	type content struct {
		Type  asn1.ObjectIdentifier
		Value asn1.RawValue
	}
	var certificates []byte
	for _, c := range a.Certificates {
		certificates = append(certificates, c.Raw...)
	}
	var raw asn1.RawValue
	if certificates != nil {
		raw = tagged(0, certificates)
	}
	signed := must(asn1.Marshal(struct {
		Version      int
		Digests      []pkix.AlgorithmIdentifier `asn1:"set"`
		Content      content
		Certificates asn1.RawValue `asn1:"optional"`
		Signers      []signer      `asn1:"set"`
	}{3, []pkix.AlgorithmIdentifier{{Algorithm: hashOID(a.Digest)}}, content{a.ContentType, tagged(0, must(asn1.Marshal(info)))}, raw, signers}))
	return must(asn1.Marshal(struct {
		Status status
		Token  content
	}{stated, content{oid(1, 2, 840, 113549, 1, 7, 2), tagged(0, signed)}}))
}
