package sign

import (
	"crypto"
	"crypto/aes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"

	"github.com/youmark/pkcs8"
)

// encryption returns how keys are encrypted: with AES-256 in CBC mode and a key derived by
// PBKDF2 with HMAC-SHA-256 (RFC 8018), as OpenSSL 3 does, but in more iterations.
func encryption() *pkcs8.Opts {
	return &pkcs8.Opts{Cipher: pkcs8.AES256CBC, KDFOpts: pkcs8.PBKDF2Opts{SaltSize: 16, IterationCount: 600_000, HMACHash: crypto.SHA256}}
}

// Limits for what a key file may demand when it is decrypted: some seconds, and 1 GiB.
const (
	maxIterations = 10_000_000
	maxCost       = 1 << 20
	maxBlockSize  = 8
)

// checkEncryption returns an error if the decryption of a key (RFC 5958, RFC 8018) would take
// very long, or if its data cannot be of a block cipher. Package pkcs8 checks neither.
func checkEncryption(der []byte) error {
	var key struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	var scheme struct{ Derivation, Encryption pkix.AlgorithmIdentifier }
	malformed := errors.New("the encrypted key is malformed, or not encrypted with PBES2 (RFC 8018)")
	if rest, err := asn1.Unmarshal(der, &key); err != nil || len(rest) > 0 {
		return malformed
	}
	if _, err := asn1.Unmarshal(key.Algorithm.Parameters.FullBytes, &scheme); err != nil {
		return malformed
	}
	var iv []byte
	if _, err := asn1.Unmarshal(scheme.Encryption.Parameters.FullBytes, &iv); err != nil || !isAESCBC(scheme.Encryption.Algorithm) || len(iv) != aes.BlockSize || len(key.Data) == 0 || len(key.Data)%aes.BlockSize != 0 {
		return errors.New("the encrypted key is malformed, or not encrypted with AES in CBC mode")
	}
	parameters := scheme.Derivation.Parameters.FullBytes
	var salted struct {
		Salt  []byte
		Count int
		Size  int                      `asn1:"optional"`
		Hash  pkix.AlgorithmIdentifier `asn1:"optional"`
	}
	var scrypt struct {
		Salt                  []byte
		Cost, Block, Parallel int
		Length                int `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(parameters, &scrypt); err == nil {
		if scrypt.Cost > maxCost || scrypt.Block > maxBlockSize || scrypt.Parallel > 1 {
			return fmt.Errorf("the encryption of the key needs more memory or time than the limit (scrypt with N = %d, r = %d, p = 1)", maxCost, maxBlockSize)
		}
		return nil
	}
	if _, err := asn1.Unmarshal(parameters, &salted); err != nil || salted.Count < 1 {
		return malformed
	}
	if salted.Count > maxIterations {
		return fmt.Errorf("the key is encrypted with %d iterations; the limit is %d", salted.Count, maxIterations)
	}
	if !isHMAC(salted.Hash.Algorithm) {
		return errors.New("the key is encrypted with a hash that is neither SHA-256 nor SHA-1 (RFC 8018 §5.2); openssl pkcs8 -topk8 encrypts it with SHA-256")
	}
	return nil
}

// isAESCBC reports whether a cipher is AES in CBC mode.
func isAESCBC(cipher asn1.ObjectIdentifier) bool {
	modes := asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1}
	return len(cipher) == len(modes)+1 && cipher[:len(modes)].Equal(modes) && slices.Contains([]int{2, 22, 42}, cipher[len(modes)])
}

// isHMAC reports whether a hash of PBKDF2 is one that package pkcs8 has: SHA-256, or SHA-1,
// which is the default and has no identifier then.
func isHMAC(hash asn1.ObjectIdentifier) bool {
	return len(hash) == 0 || hash.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9}) || hash.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 7})
}
