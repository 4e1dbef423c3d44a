// Package authority has a time-stamp authority (RFC 3161) for tests. It encodes its tokens
// itself (RFC 5652), without the modules that read them, so that tests can change every part.
package authority

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Certificate is a certificate with its private key.
type Certificate struct {
	*x509.Certificate
	key crypto.Signer
}

// PEM returns the certificate as a PEM block.
func (c *Certificate) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Authority is a time-stamp authority: a certificate that signs tokens, and the one that
// issued it.
type Authority struct {
	Root, Leaf *Certificate
	t          testing.TB
}

// New makes an authority. Its certificates are valid for a day before and after now.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.Root = Issue(t, nil, root)
	a.Leaf = Issue(t, a.Root, ForTokens)
	return a
}

// Fixed returns an authority whose keys and certificates are the same in every process, for
// fuzz tests, whose corpora have tokens of it. Its certificates are valid from 2020 to 2099.
func Fixed(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	long := func(n byte, change func(*x509.Certificate)) (*ecdsa.PrivateKey, func(*x509.Certificate)) {
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{n}, 32))
		if err != nil {
			t.Fatal(err)
		}
		return key, func(c *x509.Certificate) {
			c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(int64(n)), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
			change(c)
		}
	}
	key, change := long(1, root)
	a.Root = issue(t, nil, key, nil, change)
	key, change = long(2, ForTokens)
	a.Leaf = issue(t, a.Root, key, nil, change)
	return a
}

// With returns an authority with the same root that signs with another certificate.
func (a *Authority) With(leaf *Certificate) *Authority {
	return &Authority{Root: a.Root, Leaf: leaf, t: a.t}
}

// root makes a template one for a certificate that issues others.
func root(c *x509.Certificate) {
	c.Subject.CommonName, c.IsCA, c.BasicConstraintsValid, c.KeyUsage = "test root", true, true, x509.KeyUsageCertSign
}

// ForTokens makes a template one for a certificate that signs tokens: with the extended key
// usage for time-stamps, which is critical, and nothing else.
func ForTokens(c *x509.Certificate) {
	c.Subject.CommonName, c.KeyUsage = "test authority", x509.KeyUsageDigitalSignature
	c.ExtraExtensions = append(c.ExtraExtensions, Usages(true, oid(1, 3, 6, 1, 5, 5, 7, 3, 8)))
}

// Usages returns an extension with extended key usages.
func Usages(critical bool, usages ...asn1.ObjectIdentifier) pkix.Extension {
	return pkix.Extension{Id: oid(2, 5, 29, 37), Critical: critical, Value: must(asn1.Marshal(usages))}
}

// Issue makes a certificate with a new key of P-256, issued by another or by itself.
func Issue(t testing.TB, by *Certificate, change func(*x509.Certificate)) *Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issue(t, by, key, rand.Reader, change)
}

// issue makes a certificate. Without a source of randomness, it is always the same.
func issue(t testing.TB, by *Certificate, key *ecdsa.PrivateKey, random io.Reader, change func(*x509.Certificate)) *Certificate {
	t.Helper()
	now := time.Now()
	template := &x509.Certificate{SerialNumber: serial(), NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(0, 0, 1)}
	change(template)
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(random, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Certificate{c, key}
}

func serial() *big.Int { return must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))) }

// Over returns a response with a token over data, as if a request had asked for it. Each
// change can change what the token says.
func (a *Authority) Over(data []byte, changes ...func(*Answer)) []byte {
	a.t.Helper()
	h := crypto.SHA256.New()
	h.Write(data)
	return a.answer(crypto.SHA256, h.Sum(nil), nil, changes)
}

// Serve starts a server that answers each request with a token. Each change can change what
// the token says.
func (a *Authority) Serve(changes ...func(*Answer)) (url string) {
	return a.ServeAs(func(w http.ResponseWriter, query Query) {
		w.Header().Set("Content-Type", ReplyType)
		_, _ = w.Write(a.Reply(query, changes...))
	})
}

// ServeAs starts a server that answers requests with a function.
func (a *Authority) ServeAs(answer func(http.ResponseWriter, Query)) (url string) {
	server := httptest.NewServer(a.Handler(answer))
	a.t.Cleanup(server.Close)
	return server.URL
}

// Reply returns the response to a request.
func (a *Authority) Reply(query Query, changes ...func(*Answer)) []byte {
	return a.answer(query.hash, query.imprint, query.nonce, changes)
}

func (a *Authority) answer(hash crypto.Hash, imprint []byte, nonce *big.Int, changes []func(*Answer)) []byte {
	answer := &Answer{
		Hash: hash, Imprint: imprint, Nonce: nonce, Time: time.Now(), SigningTime: time.Now(),
		Signers: []*Certificate{a.Leaf}, Named: a.Leaf, Certificates: []*Certificate{a.Leaf, a.Root},
		Digest: crypto.SHA256, ContentType: TSTInfo, Version: 1,
	}
	for _, change := range changes {
		change(answer)
	}
	return answer.encode()
}
