//go:build signatures

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/sign"
)

// opensslAuthority is a time-stamp authority whose tokens OpenSSL makes. Its directory has the
// certificates root.pem, issuing.pem (issued by the root) and signer.pem (issued by issuing.pem).
type opensslAuthority struct {
	t   *testing.T
	dir string
	url string
	mu  sync.Mutex // OpenSSL reads and writes a file with the serial number
	// digest is what the signer signs, and by what a token names its certificate.
	digest string
}

// newAuthority makes an authority with keys of a type, "RSA" or "EC".
func newAuthority(t *testing.T, keys string) *opensslAuthority {
	t.Helper()
	a := &opensslAuthority{t: t, dir: t.TempDir(), digest: "sha256"}
	testkit.Write(t, a.path("authority.cnf"), testkit.Read(t, "testdata/signatures/authority.cnf"))
	testkit.Write(t, a.path("serial"), "01\n")
	options := map[string]string{"RSA": "rsa_keygen_bits:2048", "EC": "ec_paramgen_curve:P-256"}[keys]
	for _, name := range []string{"root", "issuing", "signer"} {
		a.openssl("genpkey", "-algorithm", keys, "-pkeyopt", options, "-out", name+".key")
	}
	a.openssl("req", "-config", "authority.cnf", "-x509", "-new", "-key", "root.key", "-subj", "/CN=root", "-extensions", "root", "-days", "3650", "-out", "root.pem")
	for name, issuer := range map[string]string{"issuing": "root", "signer": "issuing"} {
		a.openssl("req", "-config", "authority.cnf", "-new", "-key", name+".key", "-subj", "/CN="+name, "-out", name+".csr")
		if name == "issuing" {
			a.issue(name, issuer)
		}
	}
	a.issue("signer", "issuing")
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// issue makes the certificate of a request.
func (a *opensslAuthority) issue(name, issuer string) {
	a.t.Helper()
	a.openssl("x509", "-req", "-in", name+".csr", "-CA", issuer+".pem", "-CAkey", issuer+".key", "-CAcreateserial", "-extfile", "authority.cnf", "-extensions", name, "-days", "3650", "-out", name+".pem")
}

func (a *opensslAuthority) path(name string) string { return filepath.Join(a.dir, name) }

// command returns a command of OpenSSL in the directory of the authority.
func (a *opensslAuthority) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(a.t.Context(), "openssl", args...)
	cmd.Dir, cmd.Env = a.dir, append(os.Environ(), "SIGNER_DIGEST="+a.digest, "NAME_DIGEST="+a.digest)
	return cmd
}

func (a *opensslAuthority) openssl(args ...string) string {
	a.t.Helper()
	return succeed(a.t, a.command(args...))
}

// reply makes the response to the query in a file.
func (a *opensslAuthority) reply(query, to string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if out, err := a.command("ts", "-reply", "-config", "authority.cnf", "-section", "authority", "-queryfile", query, "-out", to).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// serve answers a request as RFC 3161 §3.4 says.
func (a *opensslAuthority) serve(w http.ResponseWriter, r *http.Request) {
	dir := a.t.TempDir()
	query, reply := filepath.Join(dir, "query"), filepath.Join(dir, "reply")
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Type") != "application/timestamp-query" {
		err = fmt.Errorf("the content type is %q", r.Header.Get("Content-Type"))
	}
	if err == nil {
		err = os.WriteFile(query, body, 0o600)
	}
	if err == nil {
		err = a.reply(query, reply)
	}
	var answer []byte
	if err == nil {
		answer, err = os.ReadFile(reply)
	}
	if err != nil {
		a.t.Error(err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	_, _ = w.Write(answer)
}

// authorityKeys are the types of keys of authorities.
var authorityKeys = []string{"RSA", "EC"}

// TestSignaturesTokensInOpenSSL lets OpenSSL verify the tokens that this program stored.
func TestSignaturesTokensInOpenSSL(t *testing.T) {
	t.Parallel()
	for _, keys := range authorityKeys {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			a, f := newAuthority(t, keys), freezeRun(t)
			private, public, _ := f.keygen("release")
			f.sign("--key", private, "--timestamp", a.url)
			check := []string{"ts", "-verify", "-in", tokenFile, "-CAfile", a.path("root.pem"), "-data"}
			f.tool("openssl", append(check, signedFile)...)
			f.fails(f.command("openssl", append(check, signedRecord)...), "message imprint mismatch")
			other := newAuthority(t, keys)
			f.fails(f.command("openssl", "ts", "-verify", "-in", tokenFile, "-CAfile", other.path("root.pem"), "-data", signedFile), "certificate verify error")

			for _, root := range []string{"root.pem", "issuing.pem", "signer.pem"} {
				f.hasToken(strings.TrimSuffix(root, ".pem"), "--trust", public, "--trust", a.path(root))
			}
			if s := f.verify(exitNegative, "--trust", public, "--trust", other.path("root.pem"), "--require-timestamp"); s.NotLaterThan != nil {
				t.Errorf("a token of an unknown authority counts: %+v", s)
			}
		})
	}
}

// hasToken fails unless verify accepts the token as that of the authority with a name.
func (f frozenRun) hasToken(name string, args ...string) {
	f.t.Helper()
	s := f.verify(exitDone, append(args, "--require-timestamp")...)
	if s == nil || s.State != sign.IsSigned || s.NotLaterThan == nil || s.Authority == nil || *s.Authority != name || s.JudgedBy == nil || *s.JudgedBy != sign.FromToken {
		f.t.Errorf("the token is not one of %s: %+v", name, s)
	}
}

// TestSignaturesTokensOfOpenSSL lets this program verify tokens of OpenSSL for imprints and
// signatures with each digest, with the certificates of the authority and without.
func TestSignaturesTokensOfOpenSSL(t *testing.T) {
	t.Parallel()
	for _, keys := range authorityKeys {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			a, f := newAuthority(t, keys), freezeRun(t)
			private, public, _ := f.keygen("release")
			f.sign("--key", private)
			all := f.path("authority.pem")
			var certificates []byte
			for _, name := range []string{"root", "issuing", "signer"} {
				certificates = append(certificates, testkit.Read(t, a.path(name+".pem"))...)
			}
			testkit.Write(t, all, certificates)
			for _, imprint := range []string{"sha256", "sha384", "sha512"} {
				for _, a.digest = range []string{"sha256", "sha384", "sha512"} {
					query := []string{"ts", "-query", "-data", signedFile, "-" + imprint, "-out", "query.tsq"}
					f.tool("openssl", append(query, "-cert")...)
					f.stamp(a)
					f.hasToken("root", "--trust", public, "--trust", a.path("root.pem"))

					f.tool("openssl", append(query, "-no_nonce")...)
					f.stamp(a)
					f.hasToken("authority", "--trust", public, "--trust", all)
					if s := f.verify(exitDone, "--trust", public, "--trust", a.path("root.pem")); s.State != sign.IsSigned || s.NotLaterThan != nil {
						t.Errorf("without the certificate of its signer, the token counts: %+v", s)
					}
				}
			}
			f.tool("openssl", "ts", "-query", "-data", signedRecord, "-sha256", "-cert", "-out", "query.tsq")
			f.stamp(a)
			if s := f.verify(exitNegative, "--trust", public, "--trust", all); s.State != sign.IsBroken {
				t.Errorf("a token over another file is %s", s.State)
			}
		})
	}
}

// stamp stores the response of an authority to query.tsq as the token of the record.
func (f frozenRun) stamp(a *opensslAuthority) {
	f.t.Helper()
	if err := a.reply(f.path("query.tsq"), f.path(tokenFile)); err != nil {
		f.t.Fatal(err)
	}
}

// TestSignaturesKeysOfOpenSSL signs with keys that OpenSSL made and encrypted.
func TestSignaturesKeysOfOpenSSL(t *testing.T) {
	t.Parallel()
	f := freezeRun(t)
	testkit.Write(t, f.path("passphrase"), "correct horse\n")
	var publics []string
	for _, args := range [][]string{
		{"-algorithm", "ED25519"},
		{"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
	} {
		for i, encryption := range [][]string{nil, {}, {"-scrypt"}, {"-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1", "-iter", "10000"}} {
			name := fmt.Sprintf("%s-%d", strings.ToLower(args[1]), i)
			f.tool("openssl", append([]string{"genpkey", "-out", name + ".key"}, args...)...)
			flags := []string{"--key", f.path(name + ".key")}
			if encryption != nil {
				f.tool("openssl", append([]string{"pkcs8", "-topk8", "-in", name + ".key", "-out", name + ".encrypted.key", "-passout", "file:passphrase"}, encryption...)...)
				flags = []string{"--key", f.path(name + ".encrypted.key"), "--passphrase-file", f.path("passphrase")}
				if text := string(testkit.Read(t, flags[1])); !strings.Contains(text, "BEGIN ENCRYPTED PRIVATE KEY") {
					t.Fatalf("the key is not encrypted:\n%s", text)
				}
			}
			f.tool("openssl", "pkey", "-in", name+".key", "-pubout", "-out", name+".pem")
			publics = append(publics, f.path(name+".pem"))
			f.sign(flags...)
			f.accepts(publics...)
		}
	}
	for says, encryption := range map[string][]string{
		"neither SHA-256 nor SHA-1": {"-v2prf", "hmacWithSHA512"},
		"not encrypted with AES":    {"-v2", "camellia-256-cbc"},
		"needs more memory or time": {"-scrypt", "-scrypt_p", "2"},
	} {
		f.tool("openssl", append([]string{"pkcs8", "-topk8", "-in", "ed25519-0.key", "-out", "refused.key", "-passout", "file:passphrase"}, encryption...)...)
		f.fails(f.program("sign", signedRecord, "--key", "refused.key", "--passphrase-file", "passphrase"), says)
	}
}

// program returns this program as a command in the directory of the run.
func (f frozenRun) program(args ...string) *exec.Cmd {
	f.t.Helper()
	return f.command(filepath.Join(ownBin(f.t), "p20export"), args...)
}

// TestSignaturesKeysInOpenSSL lets OpenSSL read keys that this program made.
func TestSignaturesKeysInOpenSSL(t *testing.T) {
	t.Parallel()
	f := freezeRun(t)
	testkit.Write(t, f.path("passphrase"), "correct horse\n")
	testkit.Write(t, f.path("wrong"), "correct house\n")
	for _, kind := range keyTypes {
		for _, flags := range [][]string{nil, {"--passphrase-file", f.path("passphrase")}} {
			private, public, _ := f.keygen(fmt.Sprintf("%s-%d", kind, len(flags)), append([]string{"--type", kind}, flags...)...)
			shown := f.tool("openssl", "pkey", "-pubin", "-in", public)
			if made := f.tool("openssl", "pkey", "-in", private, "-passin", "file:passphrase", "-pubout"); made != shown || !strings.Contains(string(testkit.Read(t, public)), shown) {
				t.Errorf("%s %v: the public key of the private one is\n%swant\n%s", kind, flags, made, shown)
			}
			if flags != nil {
				f.fails(f.command("openssl", "pkey", "-in", private, "-passin", "file:wrong", "-pubout"), "")
			}
		}
	}
}
