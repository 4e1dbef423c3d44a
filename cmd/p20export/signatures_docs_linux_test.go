//go:build signatures

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

const (
	signaturesPage = "../../docs/signatures.md"
	pkcs11Page     = "../../examples/pkcs11-signer/README.md"

	// What the page shows instead of the address of the authority, the time of its token, and
	// that with the accuracy of one second.
	docsAuthority = "https://tsa.example/tsr"
	docsTime      = "2026-11-28T18:52:08Z"
	docsStamp     = "Nov 28 18:52:07 2026 GMT"
)

// What differs each time in the output of the page's commands.
var (
	shownKeyID = regexp.MustCompile(`(key id +|signed by )[0-9a-f]{64}`)
	shownTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	shownStamp = regexp.MustCompile(`[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} GMT`)
	// OpenSSL names its configuration, which is a path of this machine.
	configuration = regexp.MustCompile(`(?m)^Using configuration from .*\n`)
)

// TestSignaturesDocs runs the commands in the console blocks of the page on signatures and
// compares their output with the page; with -update, it rewrites the page.
func TestSignaturesDocs(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, "RSA")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := os.MkdirTemp("/tmp", "p20export") // as in checkConsole
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	testkit.Write(t, filepath.Join(scratch, "authority.pem"), testkit.Read(t, a.path("root.pem")))
	testkit.Write(t, filepath.Join(scratch, "check.py"), onlyBlock(t, signaturesPage, "```python"))
	path := strings.Join([]string{ownBin(t), filepath.Dir(peerPython(t)), os.Getenv("PATH")}, string(os.PathListSeparator))
	tokenTime := docsTime
	made, commands := rerun(t, "```console", string(testkit.Read(t, signaturesPage)), func(command string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer(docsAuthority, a.url, docsTime, tokenTime).Replace(command))
		cmd.Dir = root
		cmd.Env = append(withoutMake(os.Environ()), "PATH="+path, "SCRATCH="+scratch)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		if found := shownTime.Find(out); found != nil {
			tokenTime = string(found)
		}
		text := strings.NewReplacer(scratch, "$SCRATCH", a.url, docsAuthority).Replace(string(out))
		text = shownStamp.ReplaceAllLiteralString(shownTime.ReplaceAllLiteralString(text, docsTime), docsStamp)
		return configuration.ReplaceAllLiteralString(shownKeyID.ReplaceAllString(text, "${1}…"), "")
	})
	if commands == 0 {
		t.Error("the page shows no command")
	}
	unchanged(t, signaturesPage, []byte(made))
}

// onlyBlock returns the block of a document that begins with the fence.
func onlyBlock(t *testing.T, doc, fence string) string {
	t.Helper()
	list := blocks(t, doc, fence)
	if len(list) != 1 {
		t.Fatalf("%s has %d blocks %s", doc, len(list), fence)
	}
	return list[0].text
}

// TestSignaturesDocsSigner signs with the signer on the page.
func TestSignaturesDocsSigner(t *testing.T) {
	t.Parallel()
	f := freezeRun(t)
	testkit.Write(t, f.path("signer.sh"), onlyBlock(t, signaturesPage, "```sh"))
	f.tool("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem")
	f.tool("openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "signer.pub.pem")
	f.sign("--signer", fmt.Sprintf("cd '%s' && sh signer.sh", f.dir))
	f.accepts(f.path("signer.pub.pem"))
}

// TestSignaturesDocsTrust verifies with the trust file on the page.
func TestSignaturesDocsTrust(t *testing.T) {
	t.Parallel()
	f := freezeRun(t)
	private, public, _ := f.keygen("release")
	f.sign("--key", private)
	list := blocks(t, signaturesPage, "```\nname:")
	if len(list) != 1 {
		t.Fatalf("the page has %d trust files", len(list))
	}
	testkit.Write(t, f.path("shown.pem"), "name: "+list[0].name+"\n"+list[0].text)
	if s := f.verify(exitDone, "--trust", public, "--trust", f.path("shown.pem")); len(s.Signers) != 1 {
		t.Errorf("the signature is %+v", s)
	}
}

// TestSignaturesHSM runs the commands of the example for PKCS#11 with SoftHSM, as one script.
func TestSignaturesHSM(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"discovery", "examples"} {
		there, err := filepath.Abs(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(there, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := "set -eu\n"
	list := blocks(t, pkcs11Page, "```sh token")
	for _, b := range list {
		script += b.text
	}
	if len(list) != 3 {
		t.Fatalf("the page has %d blocks of commands", len(list))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+ownBin(t)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "signature signed by records (ecdsa-p256)") {
		t.Errorf("%v\n%s", err, out)
	}
}
