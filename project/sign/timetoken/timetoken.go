// Package timetoken asks authorities for time-stamp tokens (RFC 3161) over files, and
// verifies them. A token shows that the file existed not later than a time, according to
// the authority that signed it.
//
// It must not know what the file is. Only this package imports the modules for tokens.
package timetoken

import (
	"bytes"
	"cmp"
	"crypto"
	_ "crypto/sha1"   // for names of certificates in tokens (RFC 2634)
	_ "crypto/sha256" // for the hashes of imprints
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"
)

// MaxBytes bounds a response of an authority. A token with the certificates of its
// authority has about 6 kB.
const MaxBytes = 256 << 10

// A Token is what a time-stamp response contains. Its signature is valid under the
// certificate of the signer, which nobody may trust.
type Token struct {
	// NotAfter is the latest time at which the authority can have made the token: the
	// stated time and its accuracy.
	NotAfter time.Time

	hash    crypto.Hash
	imprint []byte
	nonce   *big.Int
	signed  *pkcs7.PKCS7
}

// ErrMalformed is wrapped by the errors of Parse about bytes that are no response with a
// token of RFC 3161.
var ErrMalformed = errors.New("not a time-stamp response of RFC 3161")

// ErrUnknownSigner reports that the certificate of a token's signer is not known, so that its
// signature cannot be checked.
var ErrUnknownSigner = errors.New("the certificate of the token's signer is neither in the response nor trusted")

// Parse reads a time-stamp response, as it is in a .tsr file, and checks everything that
// needs no trust in the authority. known are certificates that may have signed the token,
// for a response that has none. If the signer's certificate is not among them, the error is
// ErrUnknownSigner, and only Covers and NotAfter of the token are usable.
func Parse(response []byte, known []*x509.Certificate) (*Token, error) {
	if len(response) > MaxBytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrMalformed, MaxBytes)
	}
	if err := checkDER(response, maxDepth); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var outer struct {
		Status struct {
			Status  int
			Text    []string       `asn1:"optional,utf8"`
			Failure asn1.BitString `asn1:"optional"`
		}
		Token asn1.RawValue `asn1:"optional"`
	}
	if rest, err := asn1.Unmarshal(response, &outer); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, cmp.Or(err, errors.New("data follows the response")))
	}
	if s := timestamp.Status(outer.Status.Status); s != timestamp.Granted && s != timestamp.GrantedWithMods {
		return nil, &RefusedError{s.String(), strings.Join(outer.Status.Text, ", ")}
	}
	signed, err := pkcs7.Parse(outer.Token.FullBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var info struct {
		Version int
		Policy  asn1.ObjectIdentifier
		Imprint struct {
			Hash   pkix.AlgorithmIdentifier
			Digest []byte
		}
		Serial   *big.Int
		Time     time.Time `asn1:"generalized"`
		Accuracy struct {
			Seconds int `asn1:"optional"`
			Millis  int `asn1:"optional,tag:0"`
			Micros  int `asn1:"optional,tag:1"`
		} `asn1:"optional"`
		Ordering   bool             `asn1:"optional,default:false"`
		Nonce      *big.Int         `asn1:"optional"`
		TSA        asn1.RawValue    `asn1:"optional,tag:0"`
		Extensions []pkix.Extension `asn1:"optional,tag:1"`
	}
	if rest, err := asn1.Unmarshal(signed.Content, &info); err != nil || len(rest) > 0 || info.Version != 1 {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, cmp.Or(err, errors.New("the token has data after its end or another version than 1")))
	}
	for _, e := range info.Extensions {
		if e.Critical {
			return nil, fmt.Errorf("%w: the critical extension %v is unknown", ErrMalformed, e.Id)
		}
	}
	a := info.Accuracy
	if a.Seconds < 0 || a.Seconds > maxAccuracy || a.Millis < 0 || a.Millis > 999 || a.Micros < 0 || a.Micros > 999 {
		return nil, fmt.Errorf("%w: its accuracy is not between 0 and %d seconds", ErrMalformed, maxAccuracy)
	}
	accuracy := time.Duration(a.Seconds)*time.Second + time.Duration(a.Millis)*time.Millisecond + time.Duration(a.Micros)*time.Microsecond
	if len(signed.Certificates) == 0 {
		signed.Certificates = known
	}
	t := &Token{NotAfter: info.Time.Add(accuracy).UTC(), hash: hashes()[info.Imprint.Hash.Algorithm.String()], imprint: info.Imprint.Digest, nonce: info.Nonce, signed: signed}
	return t, t.check()
}

// RefusedError reports that an authority did not make a token.
type RefusedError struct {
	Status string // of RFC 3161 §2.4.2, in words
	Text   string // of the authority, which may be empty
}

// Error describes the refusal.
func (e *RefusedError) Error() string {
	if e.Text == "" {
		return e.Status
	}
	return fmt.Sprintf("%s (%q)", e.Status, e.Text)
}

// hashes returns the digests that are accepted, by their object identifiers.
func hashes() map[string]crypto.Hash {
	return map[string]crypto.Hash{
		pkcs7.OIDDigestAlgorithmSHA256.String(): crypto.SHA256,
		pkcs7.OIDDigestAlgorithmSHA384.String(): crypto.SHA384,
		pkcs7.OIDDigestAlgorithmSHA512.String(): crypto.SHA512,
	}
}

// maxAccuracy bounds the accuracy that an authority may state, in seconds.
const maxAccuracy = 24 * 60 * 60

// Object identifiers of RFC 3161, RFC 5035 and RFC 5652.
func oidTSTInfo() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
}
func oidSigningCertificate() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
}
func oidSigningCertificateV2() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
}

// check checks the signature and what RFC 3161 requires of it.
func (t *Token) check() error {
	if t.hash == 0 {
		return errors.New("the digest of the time-stamped data is not SHA-256, SHA-384 or SHA-512")
	}
	if len(t.signed.Signers) != 1 {
		return fmt.Errorf("the token has %d signatures, but must have one (RFC 3161 §2.4.2)", len(t.signed.Signers))
	}
	signer := &t.signed.Signers[0]
	if len(signer.AuthenticatedAttributes) == 0 {
		return errors.New("the token has no signed attributes (RFC 3161 §2.4.2)")
	}
	if hashes()[signer.DigestAlgorithm.Algorithm.String()] == 0 {
		return errors.New("the digest of the token's signature is not SHA-256, SHA-384 or SHA-512")
	}
	if signer.DigestEncryptionAlgorithm.Algorithm.Equal(pkcs7.OIDDigestAlgorithmECDSASHA1) {
		return errors.New("the signature of the token is over a SHA-1 digest")
	}
	var content asn1.ObjectIdentifier
	if err := t.signed.UnmarshalSignedAttribute(pkcs7.OIDAttributeContentType, &content); err != nil || !content.Equal(oidTSTInfo()) {
		return errors.New("the signed content is not a time-stamp (RFC 3161 §2.4.2)")
	}
	leaf := t.leaf()
	if leaf == nil {
		return ErrUnknownSigner
	}
	if err := t.signed.Verify(); err != nil {
		return fmt.Errorf("the signature of the token is not valid: %w", err)
	}
	if err := t.checkLeaf(leaf); err != nil {
		return fmt.Errorf("the certificate %q that signed the token: %w", leaf.Subject.CommonName, err)
	}
	return nil
}

// leaf returns the certificate of the signer, or nil.
func (t *Token) leaf() *x509.Certificate { return t.signed.GetOnlySigner() }

// checkLeaf checks that the certificate is one for time-stamps, and the one that the token
// names in its signed attributes.
func (t *Token) checkLeaf(leaf *x509.Certificate) error {
	if leaf.IsCA {
		return errors.New("it is that of a certificate authority")
	}
	if len(leaf.ExtKeyUsage) != 1 || leaf.ExtKeyUsage[0] != x509.ExtKeyUsageTimeStamping || len(leaf.UnknownExtKeyUsage) > 0 {
		return errors.New("it is not for time-stamps only (RFC 3161 §2.3)")
	}
	critical := false
	for _, e := range leaf.Extensions {
		critical = critical || e.Critical && e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 37})
	}
	if !critical {
		return errors.New("its extended key usage is not critical (RFC 3161 §2.3)")
	}
	return t.checkNamed(leaf)
}

// checkNamed checks that the signed attributes name the certificate by its digest
// (RFC 3161 §2.4.2, RFC 5816).
func (t *Token) checkNamed(leaf *x509.Certificate) error {
	var v2 struct {
		Certs []struct {
			Hash   asn1.RawValue // an algorithm, or the digest by SHA-256
			Digest asn1.RawValue `asn1:"optional"`
			Issuer asn1.RawValue `asn1:"optional"`
		}
		Policies asn1.RawValue `asn1:"optional"`
	}
	if err := t.signed.UnmarshalSignedAttribute(oidSigningCertificateV2(), &v2); err == nil && len(v2.Certs) > 0 {
		hash, stated := crypto.SHA256, v2.Certs[0].Hash
		if stated.Tag == asn1.TagSequence {
			var algorithm pkix.AlgorithmIdentifier
			if _, err := asn1.Unmarshal(stated.FullBytes, &algorithm); err != nil {
				return errors.New("the token names its certificate in a malformed way (RFC 5035)")
			}
			if hash = hashes()[algorithm.Algorithm.String()]; hash == 0 {
				return errors.New("the token names its certificate by an unknown digest (RFC 5035)")
			}
			stated = v2.Certs[0].Digest
		}
		return sameDigest(stated.Bytes, hash, leaf)
	}
	var v1 struct {
		Certs []struct {
			Hash   []byte
			Issuer asn1.RawValue `asn1:"optional"`
		}
		Policies asn1.RawValue `asn1:"optional"`
	}
	if err := t.signed.UnmarshalSignedAttribute(oidSigningCertificate(), &v1); err == nil && len(v1.Certs) > 0 {
		return sameDigest(v1.Certs[0].Hash, crypto.SHA1, leaf)
	}
	return errors.New("the token does not name it in its signed attributes (RFC 3161 §2.4.2)")
}

func sameDigest(stated []byte, hash crypto.Hash, leaf *x509.Certificate) error {
	h := hash.New()
	h.Write(leaf.Raw)
	if !bytes.Equal(stated, h.Sum(nil)) {
		return errors.New("the signed attributes name another certificate (RFC 5035)")
	}
	return nil
}

// Covers reports whether the token is over data.
func (t *Token) Covers(data []byte) bool {
	h := t.hash.New()
	h.Write(data)
	return bytes.Equal(h.Sum(nil), t.imprint)
}

// Signer returns the name of the certificate that signed the token, which nobody may
// trust.
func (t *Token) Signer() string { return t.leaf().Subject.String() }

// IssuedUnder returns an error unless the certificate of the token's signer is authority,
// or was issued under it, and all certificates were valid at the time of the token.
func (t *Token) IssuedUnder(authority *x509.Certificate) error {
	roots, others := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(authority)
	for _, c := range t.signed.Certificates {
		others.AddCert(c)
	}
	_, err := t.leaf().Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, CurrentTime: t.NotAfter,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	return err
}

// IsExpired reports whether an error of IssuedUnder says only that a certificate was not
// valid at the time of the token.
func IsExpired(err error) bool {
	e, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && e.Reason == x509.Expired
}

// maxDepth bounds how deep values of a response contain each other. Real ones have up to 15.
const maxDepth = 40

// checkDER returns an error unless b consists of values with definite lengths that are
// nested at most depth deep. The modules read other encodings too, without a bound.
func checkDER(b []byte, depth int) error {
	if depth == 0 {
		return errors.New("its values are nested too deeply")
	}
	for len(b) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(b, &v)
		if err != nil {
			return err
		}
		if v.IsCompound {
			if err := checkDER(v.Bytes, depth-1); err != nil {
				return err
			}
		}
		b = rest
	}
	return nil
}
