package sign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/youmark/pkcs8"

	"github.com/p20export/p20export/internal/testkit"
)

// unsupported returns private keys of other kinds.
func unsupported(t testing.TB) (p384, p224 *ecdsa.PrivateKey, ofRSA *rsa.PrivateKey) {
	t.Helper()
	generate := func(curve elliptic.Curve) *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	ofRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return generate(elliptic.P384()), generate(elliptic.P224()), ofRSA
}

// block returns a PEM block.
func block(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// publicOf returns the block of a public key.
func publicOf(t testing.TB, key crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return block(publicBlock, der)
}

// spki returns the block of a public key with an algorithm that Go does not know.
func spki(t testing.TB, algorithm ...int) string {
	t.Helper()
	der, err := asn1.Marshal(struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}{pkix.AlgorithmIdentifier{Algorithm: algorithm}, asn1.BitString{Bytes: make([]byte, 57), BitLength: 57 * 8}})
	if err != nil {
		t.Fatal(err)
	}
	return block(publicBlock, der)
}

// privateOf returns the block of a private key in PKCS#8.
func privateOf(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return block(privateBlock, der)
}

// TestTrustRefused gives trust files that must not be trusted in silence. Each has its own
// error, which names the file and the block.
func TestTrustRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p384, p224, ofRSA := unsupported(t)
	ann, bob, root := string(w.ann.Public().PEM()), string(w.bob.Public().PEM()), string(w.authority.Root.PEM())
	private, err := w.ann.PEM(nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(ann, "MCow", "MCox", 1)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "it has no PEM block; want a PUBLIC KEY or a CERTIFICATE"},
		{"text", "# nothing\n", "it has no PEM block"},
		{"a private key", string(private), "PEM block 1: this is a private key, which must stay with its owner; want the public key"},
		{"an encrypted private key", block(encryptedBlock, []byte{1}), "PEM block 1: this is a private key"},
		{"a private key of PKCS#1", block("RSA PRIVATE KEY", []byte{1}), "PEM block 1: this is a private key"},
		{"a private key of OpenSSH", block("OPENSSH PRIVATE KEY", []byte{1}), "PEM block 1: this is a private key"},
		{"a private key after a public one", ann + string(private), "PEM block 2: this is a private key"},
		{"RSA", publicOf(t, ofRSA.Public()), "only Ed25519 and ECDSA with the curve P-256 are supported"},
		{"P-384", publicOf(t, p384.Public()), "the key is an ECDSA key with the curve P-384"},
		{"P-224", publicOf(t, p224.Public()), "the key is an ECDSA key with the curve P-224"},
		{"Ed448", spki(t, 1, 3, 101, 113), "the public key is malformed, or of an unknown kind"},
		{"X25519", spki(t, 1, 3, 101, 110), "PEM block 1: "},
		{"a public key of PKCS#1", block("RSA PUBLIC KEY", []byte{1}), `the type is "RSA PUBLIC KEY"; want PUBLIC KEY or CERTIFICATE`},
		{"a request for a certificate", block("CERTIFICATE REQUEST", []byte{1}), `the type is "CERTIFICATE REQUEST"`},
		{"a public key with a broken algorithm", broken, "PEM block 1"},
		{"a truncated certificate", block(authorityBlock, w.authority.Root.Raw[:100]), "the certificate is malformed"},
		{"a certificate with data after it", block(authorityBlock, append(w.authority.Root.Raw[:len(w.authority.Root.Raw):len(w.authority.Root.Raw)], 0)), "the certificate is malformed"},
		{"the same key under two names", "name: ann\n" + ann + "name: also ann\n" + ann, `PEM block 2: the key is that of "ann"; a key can be trusted only once`},
		{"an unknown line", "expires: 2026-01-01T00:00:00Z\n" + ann, `the line "expires: 2026-01-01T00:00:00Z" is not name:, valid-from: or valid-until:`},
		{"a line misspelt", "valid until: 2026-01-01T00:00:00Z\n" + ann, `the line "valid until: 2026-01-01T00:00:00Z" is not`},
		{"a line in capitals", "Valid-Until: 2026-01-01T00:00:00Z\n" + ann, "is not name:, valid-from: or valid-until:"},
		{"text without a colon", "release key\n" + ann, `the line "release key" is not name:`},
		{"a line after the last block", ann + "valid-until: 2026-01-01T00:00:00Z\nname x\n", "after the last PEM block"},
		{"a name twice", "name: a\nname: b\n" + ann, `"name" is given twice`},
		{"a time twice", "valid-until: 2026-01-01T00:00:00Z\nvalid-until: 2027-01-01T00:00:00Z\n" + ann, `"valid-until" is given twice`},
		{"no name", "name:\n" + ann, "the name is empty"},
		{"a name with control characters", "name: \x1b[2J\n" + ann, "has control characters"},
		{"a long name", "name: " + strings.Repeat("n", 2000) + "\n" + ann, "too long"},
		{"no time", "valid-from: tomorrow\n" + ann, "valid-from: "},
		{"a time without a zone", "valid-until: 2026-01-01T00:00:00\n" + ann, "valid-until: "},
		{"an end before the beginning", "valid-from: 2027-01-01T00:00:00Z\nvalid-until: 2026-01-01T00:00:00Z\n" + ann, "valid-until is not after valid-from"},
		{"an end at the beginning", "valid-from: 2027-01-01T00:00:00Z\nvalid-until: 2027-01-01T00:00:00Z\n" + ann, "valid-until is not after valid-from"},
		{"a block without its end", ann[:len(ann)-10], "PEM block 1 is malformed"},
		{"a block without its end before a good one", ann[:len(ann)-10] + "\n" + bob, "PEM block 1 is malformed"},
		{"a block with headers", strings.Replace(ann, "\nMCow", "\nname: a\n\nMCow", 1), "PEM block 1 is malformed"},
		{"a block with another end", strings.Replace(ann, "END PUBLIC", "END PRIVATE", 1), "PEM block 1 is malformed"},
		{"more than a megabyte", strings.Repeat("# \n", 1<<19) + root, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trust.pem")
			testkit.Write(t, path, c.text)
			got, err := ReadTrust(path)
			if err == nil || got != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "trust.pem") {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), privateText(private)) {
				t.Errorf("the error contains the private key: %v", err)
			}
		})
	}
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing.pem")} {
		if _, err := ReadTrust(path); err == nil {
			t.Errorf("%s is trusted", path)
		}
	}
	testkit.Write(t, filepath.Join(dir, "a.pem"), ann)
	testkit.Write(t, filepath.Join(dir, "b.pem"), ann)
	if _, err := ReadTrust(dir); err == nil || !strings.Contains(err.Error(), `b.pem: PEM block 1: the key is that of "a"`) {
		t.Errorf("the same key in two files: %v", err)
	}
}

// privateText returns the base64 of a PEM file with a private key.
func privateText(file []byte) string { return strings.Split(string(file), "\n")[1] }

// TestTrustRead checks what trust files may contain.
func TestTrustRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "release.pem"), "# a comment\r\n\r\n  name:  release key 2026  \r\nvalid-from: 2026-01-01T00:00:00Z\nvalid-until: 2027-01-01T01:00:00+01:00\n"+string(w.ann.Public().PEM())+"\n# the end\n"+string(w.bob.Public().PEM()))
	testkit.Write(t, filepath.Join(dir, "authority.pem"), w.authority.Root.PEM())
	testkit.Write(t, filepath.Join(dir, "README"), "not a trust file")
	trust, err := ReadTrust(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range trust.keys {
		got = append(got, fmt.Sprintf("%s %s %s", k.name, k.Type, k.period))
	}
	for _, a := range trust.authorities {
		got = append(got, fmt.Sprintf("%s %s %s", a.name, a.certificate.Subject.CommonName, a.period))
	}
	want := []string{"release key 2026 ed25519 from 2026-01-01T00:00:00Z until 2027-01-01T00:00:00Z", "release ecdsa-p256 ", "authority test root "}
	if diff := cmp.Diff(want, got); diff != "" || trust.Keys() != 2 || trust.Authorities() != 1 {
		t.Errorf("trust (-want +got):\n%s", diff)
	}
}

// encrypted returns a key that is encrypted with a passphrase, after a change of its
// parameters. It is not decryptable if they are not true.
func encrypted(t testing.TB, change func(key *encryptedKey)) string {
	t.Helper()
	file, err := newKey(t, Ed25519).PEM([]byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	decoded, _ := pem.Decode(file)
	var key encryptedKey
	if rest, err := asn1.Unmarshal(decoded.Bytes, &key); err != nil || len(rest) > 0 {
		t.Fatal(err)
	}
	change(&key)
	der, err := asn1.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return block(encryptedBlock, der)
}

// encryptedKey is an EncryptedPrivateKeyInfo of RFC 5958 as this program writes it.
type encryptedKey struct {
	Algorithm struct {
		ID     asn1.ObjectIdentifier
		Scheme struct {
			Derivation struct {
				ID         asn1.ObjectIdentifier
				Parameters struct {
					Salt  []byte
					Count int
					PRF   pkix.AlgorithmIdentifier
				}
			}
			Encryption struct {
				ID asn1.ObjectIdentifier
				IV []byte
			}
		}
	}
	Data []byte
}

// TestPrivateKeyRefused gives files that are no usable private key. Each has its own error,
// which says nothing of the key or the passphrase, and none takes long.
func TestPrivateKeyRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p384, _, ofRSA := unsupported(t)
	sec1, err := x509.MarshalECPrivateKey(w.bob.signer.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := w.ann.PEM(nil)
	if err != nil {
		t.Fatal(err)
	}
	plainBlock, _ := pem.Decode(plain)
	der, err := pkcs8.MarshalPrivateKey(w.ann.signer, []byte("correct horse"), &pkcs8.Opts{Cipher: pkcs8.AES256CBC, KDFOpts: pkcs8.ScryptOpts{SaltSize: 16, CostParameter: 1 << 21, BlockSize: 1, ParallelizationParameter: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, passphrase, want string }{
		{"nothing", "", "", "the file has no PEM block"},
		{"text", "secret", "", "the file has no PEM block"},
		{"a public key", string(w.ann.Public().PEM()), "", "the file has a public key; want the private key"},
		{"a certificate", string(w.authority.Root.PEM()), "", `the file has a PEM block "CERTIFICATE"; want a private key in PKCS#8`},
		{"PKCS#1", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(ofRSA)), "", "openssl pkcs8 -topk8 converts others"},
		{"SEC 1", block("EC PRIVATE KEY", sec1), "", "openssl pkcs8 -topk8 converts others"},
		{"OpenSSH", block("OPENSSH PRIVATE KEY", []byte("openssh-key-v1\x00")), "", "openssl pkcs8 -topk8 converts others"},
		{"SEC 1 named as PKCS#8", block(privateBlock, sec1), "", "the private key is not in PKCS#8"},
		{"RSA", privateOf(t, ofRSA), "", "only Ed25519 and ECDSA with the curve P-256 are supported"},
		{"P-384", privateOf(t, p384), "", "the key is an ECDSA key with the curve P-384"},
		{"truncated", block(privateBlock, plainBlock.Bytes[:20]), "", "the private key is not in PKCS#8"},
		{"two keys", string(plain) + string(plain), "", "the file has several PEM blocks; want one private key"},
		{"a key and its public key", string(plain) + string(w.ann.Public().PEM()), "", "several PEM blocks"},
		{"no passphrase", encrypted(t, func(*encryptedKey) {}), "", "the key is encrypted"},
		{"a wrong passphrase", encrypted(t, func(*encryptedKey) {}), "battery staple", "the passphrase is wrong, or the file is damaged"},
		{"a billion iterations", encrypted(t, func(k *encryptedKey) { k.Algorithm.Scheme.Derivation.Parameters.Count = 1_000_000_000 }), "correct horse", "the key is encrypted with 1000000000 iterations; the limit is 10000000"},
		{"no iterations", encrypted(t, func(k *encryptedKey) { k.Algorithm.Scheme.Derivation.Parameters.Count = 0 }), "correct horse", "malformed"},
		{"negative iterations", encrypted(t, func(k *encryptedKey) { k.Algorithm.Scheme.Derivation.Parameters.Count = -1 }), "correct horse", "malformed"},
		{"scrypt with 256 MB", block(encryptedBlock, der), "correct horse", "needs more memory or time than the limit"},
		{"truncated ciphertext", encrypted(t, func(k *encryptedKey) { k.Data = k.Data[:len(k.Data)-1] }), "correct horse", "malformed"},
		{"no ciphertext", encrypted(t, func(k *encryptedKey) { k.Data = nil }), "correct horse", "malformed"},
		{"one block of ciphertext", encrypted(t, func(k *encryptedKey) { k.Data = k.Data[:16] }), "correct horse", "the passphrase is wrong, or the file is damaged"},
		{"a short IV", encrypted(t, func(k *encryptedKey) { k.Algorithm.Scheme.Encryption.IV = []byte{1} }), "correct horse", "malformed"},
		{"a cipher that is not AES", encrypted(t, func(k *encryptedKey) { k.Algorithm.Scheme.Encryption.ID = asn1.ObjectIdentifier{1, 2, 3} }), "correct horse", "not encrypted with AES in CBC mode"},
		{"another scheme than PBES2", encrypted(t, func(k *encryptedKey) { k.Algorithm.ID = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 3} }), "correct horse", "the key cannot be decrypted"},
		{"an unknown derivation", encrypted(t, func(k *encryptedKey) { k.Algorithm.Scheme.Derivation.ID = asn1.ObjectIdentifier{1, 2, 3} }), "correct horse", "the key cannot be decrypted"},
		{"noise", block(encryptedBlock, bytes.Repeat([]byte{0x30, 0x03}, 50)), "correct horse", "malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var phrase []byte
			if c.passphrase != "" {
				phrase = []byte(c.passphrase)
			}
			key, err := ParsePrivateKey([]byte(c.text), phrase)
			if key != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("key %v, error %v\nwant %s", key != nil, err, c.want)
			}
			if c.passphrase != "" && strings.Contains(err.Error(), c.passphrase) || strings.Contains(err.Error(), privateText(plain)) {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
}

// TestPrivateKeyRead checks that what is written is read, encrypted or not.
func TestPrivateKeyRead(t *testing.T) {
	t.Parallel()
	for _, kind := range []KeyType{Ed25519, ECDSAP256} {
		for _, phrase := range [][]byte{nil, []byte("correct horse"), {0xff, 0}} {
			key := newKey(t, kind)
			file, err := key.PEM(phrase)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParsePrivateKey(append([]byte("a comment\n"), file...), phrase)
			if err != nil || again.Public().ID != key.Public().ID {
				t.Errorf("%s with %q: %v", kind, phrase, err)
			}
		}
	}
	if _, err := NewPrivateKey("rsa"); err == nil || !strings.Contains(err.Error(), "the types are ed25519 and ecdsa-p256") {
		t.Errorf("a key of RSA: %v", err)
	}
}
