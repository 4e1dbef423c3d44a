package sign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/cjson"
	"github.com/youmark/pkcs8"

	"github.com/p20export/p20export/finding"
)

// KeyType is a kind of key.
type KeyType string

// The kinds of keys.
const (
	Ed25519   KeyType = "ed25519"
	ECDSAP256 KeyType = "ecdsa-p256" // with SHA-256; signatures are in ASN.1 DER
)

// PublicKey is the key with which a signature is verified.
type PublicKey struct {
	Type KeyType
	// ID is the key id that signatures contain: the one that securesystemslib of Python
	// computes, 64 hex digits. It is a hint; nothing is trusted because of it.
	ID string

	der     []byte // SubjectPublicKeyInfo
	key     crypto.PublicKey
	otherID string // the id that go-securesystemslib computes
}

// errKey is the reason for which a key is refused.
var errKey = errors.New("only Ed25519 and ECDSA with the curve P-256 are supported")

// NewPublicKey returns a public key for signatures of records.
func NewPublicKey(key crypto.PublicKey) (*PublicKey, error) {
	k := &PublicKey{key: key}
	var stated map[string]any
	switch p := key.(type) {
	case ed25519.PublicKey:
		k.Type = Ed25519
		stated = map[string]any{"keytype": "ed25519", "scheme": "ed25519"}
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return nil, fmt.Errorf("the key is an ECDSA key with the curve %s; %w", p.Curve.Params().Name, errKey)
		}
		k.Type = ECDSAP256
		stated = map[string]any{"keytype": "ecdsa", "scheme": "ecdsa-sha2-nistp256"}
	default:
		return nil, fmt.Errorf("the key is %s; %w", kindOf(key), errKey)
	}
	var err error
	if k.der, err = x509.MarshalPKIXPublicKey(key); err != nil {
		return nil, err
	}
	public, trimmed := string(k.PEM()), string(k.PEM()[:len(k.PEM())-1])
	if p, ok := key.(ed25519.PublicKey); ok {
		public = hex.EncodeToString(p)
		trimmed = public
	}
	stated["keyval"] = map[string]string{"public": public}
	if k.ID, err = keyID(stated); err != nil {
		return nil, err
	}
	stated["keyval"] = map[string]string{"public": trimmed}
	stated["keyid_hash_algorithms"] = []string{"sha256", "sha512"}
	k.otherID, err = keyID(stated)
	return k, err
}

// kindOf describes a key that is not supported.
func kindOf(key any) string {
	switch key.(type) {
	case *rsa.PublicKey, *rsa.PrivateKey:
		return "an RSA key"
	}
	return "of an unknown kind"
}

// keyID returns the SHA-256 of the canonical JSON of a key, in the form of securesystemslib.
func keyID(key map[string]any) (string, error) {
	data, err := cjson.EncodeCanonical(key)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// PEM returns the key as a PEM block with its SubjectPublicKeyInfo.
func (k *PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: k.der})
}

// Types of PEM blocks (RFC 7468).
const (
	publicBlock    = "PUBLIC KEY"
	privateBlock   = "PRIVATE KEY"
	encryptedBlock = "ENCRYPTED PRIVATE KEY"
	authorityBlock = "CERTIFICATE"
)

// Verify reports whether signature is one of the message with this key.
func (k *PublicKey) Verify(message, signature []byte) bool {
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, signature)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(key, sum[:], signature)
	}
	return false
}

// Ed25519 returns the key, or nil if it is of another kind.
func (k *PublicKey) Ed25519() ed25519.PublicKey {
	key, _ := k.key.(ed25519.PublicKey)
	return key
}

// isNamed reports whether a key id of a signature is one of this key.
func (k *PublicKey) isNamed(id string) bool { return id == k.ID || id == k.otherID }

// PrivateKey is a key that signs.
type PrivateKey struct {
	public *PublicKey
	signer crypto.Signer
}

// NewPrivateKey makes a key.
func NewPrivateKey(t KeyType) (*PrivateKey, error) {
	switch t {
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		return newPrivateKey(key)
	case ECDSAP256:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return newPrivateKey(key)
	}
	return nil, fmt.Errorf("unknown key type %s; the types are %s and %s", finding.Quote(string(t)), Ed25519, ECDSAP256)
}

func newPrivateKey(key any) (*PrivateKey, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the key is %s; %w", kindOf(key), errKey)
	}
	public, err := NewPublicKey(signer.Public())
	if err != nil {
		return nil, err
	}
	return &PrivateKey{public, signer}, nil
}

// Errors of ParsePrivateKey.
var (
	// ErrEncrypted reports that a key is encrypted and no passphrase was given.
	ErrEncrypted = errors.New("the key is encrypted")
	// ErrPassphrase reports that the passphrase does not decrypt the key.
	ErrPassphrase = errors.New("the key cannot be decrypted: the passphrase is wrong, or the file is damaged")
)

// ParsePrivateKey reads a PEM file with one private key in PKCS#8 (RFC 5958), encrypted or
// not. passphrase is nil if none is given. No error contains anything of the key or of the
// passphrase.
func ParsePrivateKey(data, passphrase []byte) (*PrivateKey, error) {
	block, rest := pem.Decode(data)
	if block == nil {
		return nil, errors.New("the file has no PEM block")
	}
	if again, _ := pem.Decode(rest); again != nil {
		return nil, errors.New("the file has several PEM blocks; want one private key")
	}
	switch block.Type {
	case privateBlock:
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, errors.New("the private key is not in PKCS#8")
		}
		return newPrivateKey(key)
	case encryptedBlock:
		if passphrase == nil {
			return nil, ErrEncrypted
		}
		if err := checkEncryption(block.Bytes); err != nil {
			return nil, err
		}
		key, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, passphrase)
		if err != nil {
			return nil, ErrPassphrase
		}
		return newPrivateKey(key)
	case publicBlock:
		return nil, errors.New("the file has a public key; want the private key")
	}
	return nil, fmt.Errorf("the file has a PEM block %s; want a private key in PKCS#8 (openssl pkcs8 -topk8 converts others)", finding.Quote(block.Type))
}

// Passphrase returns the passphrase in a file, which is its first line.
func Passphrase(file []byte) ([]byte, error) {
	line, _, _ := bytes.Cut(file, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
		return nil, errors.New("the passphrase is empty")
	}
	return line, nil
}

// PEM returns the key in PKCS#8, encrypted if passphrase is not nil.
func (k *PrivateKey) PEM(passphrase []byte) ([]byte, error) {
	kind := privateBlock
	var der []byte
	var err error
	if passphrase == nil {
		der, err = x509.MarshalPKCS8PrivateKey(k.signer)
	} else {
		kind = encryptedBlock
		der, err = pkcs8.MarshalPrivateKey(k.signer, passphrase, encryption())
	}
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), nil
}
