//go:build dist || roots

package packaging_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/sign"
)

// releaseKey returns the path of a file with the key with which make packages signed the
// release. suffix is .key.pem or .pub.pem.
func releaseKey(t *testing.T, suffix string) string {
	t.Helper()
	name := os.Getenv("P20EXPORT_DIST_KEY")
	if name == "" {
		t.Fatal("P20EXPORT_DIST_KEY is not set; use make packages")
	}
	return name + suffix
}

// signatureSuffix is that of the names of signatures.
const signatureSuffix = ".dsse.json"

// signatures returns the names of the signatures, and the number of all other files.
func signatures(t *testing.T) (names []string, others int) {
	t.Helper()
	files, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), signatureSuffix) {
			names = append(names, f.Name())
		} else {
			others++
		}
	}
	return names, others
}

// Signing again makes the same bytes, and the program that the documentation of releases shows
// accepts all signatures, but none of another file and none with another key.
func TestSignatures(t *testing.T) {
	t.Parallel()
	key, err := sign.ParsePrivateKey(testkit.Read(t, releaseKey(t, ".key.pem")), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, page, _ := strings.Cut(string(testkit.Read(t, "../docs/releases.md")), "```python\n")
	program, _, _ := strings.Cut(page, "```\n")
	script, other := filepath.Join(dir, "payload.py"), filepath.Join(dir, "other.pem")
	testkit.Write(t, script, program)
	stranger, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, other, stranger.Public().PEM())
	python := os.Getenv("P20EXPORT_SIGNATURES_PYTHON")
	payload := func(public, name, payloadType string) *exec.Cmd {
		return exec.Command(python, "-W", "error", "-B", script, published("%s", name), public, payloadType)
	}
	types := map[string]string{
		"SHA256SUMS.dsse.json":                       "text/plain",
		"p20export_" + version + ".intoto.dsse.json": "application/vnd.in-toto+json",
	}
	payloads := map[string]string{"p20export_" + version + ".intoto.dsse.json": "p20export_" + version + ".intoto.jsonl"}
	for _, system := range systems {
		name := "p20export_" + version + "_" + system + ".cdx"
		types[name+signatureSuffix], payloads[name+signatureSuffix] = "application/vnd.cyclonedx+json", name+".json"
	}
	names, _ := signatures(t)
	if len(names) != len(types) {
		t.Errorf("the signatures are %q", names)
	}
	for name, payloadType := range types {
		of := payloads[name]
		if of == "" {
			of = strings.TrimSuffix(name, signatureSuffix)
		}
		want := testkit.Read(t, published("%s", of))
		again, err := sign.Sign(t.Context(), payloadType, want, key)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, testkit.Read(t, published("%s", name))) {
			t.Errorf("%s has other bytes when it is made again", name)
		}
		if got := output(t, payload(releaseKey(t, ".pub.pem"), name, payloadType)); got != string(want) {
			t.Errorf("%s has another payload than %s", name, of)
		}
	}
	contains(t, failing(t, 1, payload(other, "SHA256SUMS.dsse.json", "text/plain")), "VerificationError")
	contains(t, failing(t, 1, payload(releaseKey(t, ".pub.pem"), "SHA256SUMS.dsse.json", "application/vnd.in-toto+json")), "AssertionError")
}
