//go:build signatures

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/sign"
)

// frozenRun is a run that was frozen, in a directory of its own. The other programs run in
// this directory.
type frozenRun struct {
	t   *testing.T
	dir string
}

const (
	signedCapture = "../../discovery/captures/adk/one-turn"
	signedRecord  = "one-turn.record.json"
	signedFile    = "one-turn.record.dsse.json"
	tokenFile     = "one-turn.record.tsr"
)

// freezeRun freezes a capture.
func freezeRun(t *testing.T) frozenRun {
	t.Helper()
	f := frozenRun{t, t.TempDir()}
	do(t, exitDone, "freeze", signedCapture, "-o", f.dir)
	return f
}

func (f frozenRun) path(name string) string { return filepath.Join(f.dir, name) }

// sign signs the record with more arguments.
func (f frozenRun) sign(args ...string) {
	f.t.Helper()
	do(f.t, exitDone, append([]string{"sign", f.path(signedRecord)}, args...)...)
}

// keygen makes a pair of keys and returns its paths and its id.
func (f frozenRun) keygen(name string, args ...string) (private, public, id string) {
	f.t.Helper()
	var row struct {
		PrivateKey string `json:"private_key"`
		PublicKey  string `json:"public_key"`
		KeyID      string `json:"key_id"`
	}
	f.decode(do(f.t, exitDone, append([]string{"keygen", f.path(name), "--format", "json"}, args...)...), &row)
	return row.PrivateKey, row.PublicKey, row.KeyID
}

func (f frozenRun) decode(data []byte, to any) {
	f.t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		f.t.Fatalf("%v\n%s", err, data)
	}
}

// verify verifies the artifact, and returns what is said of its signature. The exit status has
// to be the given one.
func (f frozenRun) verify(status int, args ...string) *sign.Signature {
	f.t.Helper()
	var row struct{ Signature *sign.Signature }
	f.decode(do(f.t, status, append([]string{"verify", f.path("one-turn.artifact.json"), "--capture", signedCapture, "--format", "json"}, args...)...), &row)
	return row.Signature
}

// accepts fails unless verify finds as many signatures by trusted keys as there are public keys.
func (f frozenRun) accepts(publics ...string) {
	f.t.Helper()
	s := f.verify(exitDone, f.trusting(publics)...)
	if s == nil || s.State != sign.IsSigned || len(s.Signers) != len(publics) {
		f.t.Errorf("the signature is %+v, and not by %d keys", s, len(publics))
	}
}

func (f frozenRun) trusting(publics []string) []string {
	args := []string{"--require-signature"}
	for _, p := range publics {
		args = append(args, "--trust", p)
	}
	return args
}

// command returns a command in the directory of the run.
func (f frozenRun) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.t.Context(), name, args...)
	cmd.Dir = f.dir
	return cmd
}

// tool runs a program that has to succeed, and returns what it printed.
func (f frozenRun) tool(name string, args ...string) string {
	f.t.Helper()
	return succeed(f.t, f.command(name, args...))
}

func succeed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// fails runs a command that has to fail with a message.
func (f frozenRun) fails(cmd *exec.Cmd, message string) {
	f.t.Helper()
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), message) {
		f.t.Errorf("%s: %v; want a failure with %q\n%s", cmd, err, message, out)
	}
}

// peerPython returns the Python that has the packages of testdata/signatures/requirements.txt.
func peerPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("P20EXPORT_SIGNATURES_PYTHON")
	if python == "" {
		t.Fatal("P20EXPORT_SIGNATURES_PYTHON is not set; use make signatures")
	}
	return python
}

// peer runs testdata/signatures/peer.py.
func (f frozenRun) peer(args ...string) *exec.Cmd {
	f.t.Helper()
	script, err := filepath.Abs("testdata/signatures/peer.py")
	if err != nil {
		f.t.Fatal(err)
	}
	return f.command(peerPython(f.t), append([]string{"-W", "error", "-B", script}, args...)...)
}

// keyTypes are the types of keys.
var keyTypes = []string{"ed25519", "ecdsa-p256"}

// TestSignaturesOursInPython lets securesystemslib verify what this program signed, and
// in-toto-attestation read it.
func TestSignaturesOursInPython(t *testing.T) {
	t.Parallel()
	f := freezeRun(t)
	var publics, ids []string
	for _, kind := range keyTypes {
		private, public, id := f.keygen(kind, "--type", kind)
		publics, ids = append(publics, public), append(ids, id)
		f.sign("--key", private)
		if got := succeed(t, f.peer("verify", signedFile, "1", public)); got != id+"\n" {
			t.Errorf("%s: securesystemslib accepts the keys %q, want %s", kind, got, id)
		}
	}
	if got, want := succeed(t, f.peer(append([]string{"verify", signedFile, "2"}, publics...)...)), strings.Join(ids, "\n")+"\n"; got != want {
		t.Errorf("securesystemslib accepts the keys %q, want %q", got, want)
	}
	_, stranger, _ := f.keygen("stranger")
	f.fails(f.peer("verify", signedFile, "2", publics[0], stranger), "do not match threshold")

	var record struct {
		PredicateType string
		Subject       []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
	}
	f.decode(testkit.Read(t, f.path(signedRecord)), &record)
	want := record.PredicateType + "\n"
	for _, s := range record.Subject {
		want += s.Name + " sha256:" + s.Digest.SHA256 + "\n"
	}
	if got := succeed(t, f.peer("statement", signedFile)); got != want || len(record.Subject) != 2 {
		t.Errorf("in-toto-attestation reads\n%swant\n%s", got, want)
	}
	data := strings.Replace(string(testkit.Read(t, f.path(signedFile))), `"payload":"ewog`, `"payload":"ewoK`, 1)
	testkit.Write(t, f.path("changed.json"), data)
	f.fails(f.peer("verify", "changed.json", "1", publics[0]), "do not match threshold")
}

// TestSignaturesOfOthers lets this program verify what securesystemslib signed, in Python and
// in Go, with their key ids and without.
func TestSignaturesOfOthers(t *testing.T) {
	t.Parallel()
	f := freezeRun(t)
	var privates, publics []string
	for _, kind := range keyTypes {
		private, public, _ := f.keygen(kind, "--type", kind)
		privates, publics = append(privates, private), append(publics, public)
	}
	signers := []struct {
		name string
		sign func(keys ...string) []byte
	}{
		{"Python", func(keys ...string) []byte {
			return []byte(succeed(t, f.peer(append([]string{"sign", signedRecord}, keys...)...)))
		}},
		{"Go", func(keys ...string) []byte { return signInGo(t, testkit.Read(t, f.path(signedRecord)), keys...) }},
	}
	for _, s := range signers {
		for i := range privates {
			f.replace(s.sign(privates[i]), publics[i])
		}
		both := s.sign(privates...)
		f.replace(both, publics...)
		var e dsse.Envelope
		f.decode(both, &e)
		if len(e.Signatures) != 2 || len(e.Signatures[0].KeyID) != 64 {
			t.Fatalf("%s: the signatures are %+v", s.name, e.Signatures)
		}
		for i := range e.Signatures {
			e.Signatures[i].KeyID = ""
		}
		without, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		f.replace(without, publics...)
		e.Signatures[1].Sig = e.Signatures[0].Sig // a signature by the first key counts once
		repeated, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, f.path(signedFile), repeated)
		if v := f.verify(exitNegative, append(f.trusting(publics), "--threshold", "2")...); v.State != sign.IsUntrusted {
			t.Errorf("%s: two signatures by one key are %s", s.name, v.State)
		}
	}
}

// replace writes a signature and fails unless it is accepted.
func (f frozenRun) replace(envelope []byte, publics ...string) {
	f.t.Helper()
	testkit.Write(f.t, f.path(signedFile), envelope)
	f.accepts(publics...)
}

// signInGo signs a record with the signers of go-securesystemslib, whose key ids differ from
// those of securesystemslib.
func signInGo(t *testing.T, record []byte, keys ...string) []byte {
	t.Helper()
	var signers []dsse.Signer
	for _, path := range keys {
		key, err := signerverifier.LoadKey(testkit.Read(t, path))
		if err != nil {
			t.Fatal(err)
		}
		var s dsse.Signer
		if key.KeyType == signerverifier.ED25519KeyType {
			s, err = signerverifier.NewED25519SignerVerifierFromSSLibKey(key)
		} else {
			s, err = signerverifier.NewECDSASignerVerifierFromSSLibKey(key)
		}
		if err != nil {
			t.Fatal(err)
		}
		signers = append(signers, s)
	}
	signer, err := dsse.NewEnvelopeSigner(signers...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := signer.SignPayload(t.Context(), sign.PayloadType, record)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
