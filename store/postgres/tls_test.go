//go:build postgres

package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPostgresTLS checks that the parameters of the URL decide which server is trusted.
func TestPostgresTLS(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	if _, err := Open(t.Context(), s.url+"&sslmode=require", true); err == nil || !strings.Contains(err.Error(), "server refused TLS connection") {
		t.Errorf("a server without TLS: %v", err)
	}
	certificate, key := newCertificate(t)
	conn := connect(t, s.url)
	for name, text := range map[string][]byte{"server.crt": certificate, "server.key": key} {
		// The server writes the files, because they must belong to its user.
		run(t, conn, "COPY (SELECT '"+base64.StdEncoding.EncodeToString(text)+"') TO PROGRAM 'umask 077 && base64 -d >"+name+"'")
	}
	run(t, conn, "ALTER SYSTEM SET ssl = on")
	s.control(t, "stop")
	s.start(t)

	trusted, other := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "other.pem")
	unrelated, _ := newCertificate(t)
	for path, text := range map[string][]byte{trusted: certificate, other: unrelated} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := s.schema()
	log := open(t, link+"&sslmode=verify-full&sslrootcert="+url.QueryEscape(trusted))
	fill(t, log, "t", 3)
	var encrypted int
	if err := connect(t, s.url).QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
		WHERE s.ssl AND a.application_name = 'p20export'`).Scan(&encrypted); err != nil || encrypted == 0 {
		t.Errorf("%d connections are encrypted: %v", encrypted, err)
	}
	_, err := Open(t.Context(), link+"&sslmode=verify-full&sslrootcert="+url.QueryEscape(other), false)
	if err == nil || !strings.Contains(err.Error(), "the certificate of the server is not trusted; name its CA with sslrootcert") {
		t.Errorf("a server of another CA: %v", err)
	}
}

// newCertificate returns a certificate for 127.0.0.1 that signs itself, and its key.
func newCertificate(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}
