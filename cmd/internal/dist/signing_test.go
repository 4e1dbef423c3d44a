package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/sign"
)

// TestSign signs a release twice with a key in an encrypted file. The envelopes have the files
// as they are, and the same bytes each time.
func TestSign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.PEM([]byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	k := keys{file: filepath.Join(dir, "release.key.pem"), passphrase: filepath.Join(dir, "passphrase")}
	testkit.Write(t, k.file, text)
	testkit.Write(t, k.passphrase, "correct horse\nanother line\n")
	signers, end, err := k.open(t.Context())
	if err != nil || len(signers) != 1 {
		t.Fatal(signers, err)
	}
	defer end()
	published := map[string]string{
		"SHA256SUMS": "digests\n", "p20export_1.2.3.intoto.jsonl": "provenance\n",
		"p20export_1.2.3_linux_amd64.cdx.json": "{}\n", "p20export_1.2.3_linux_arm64.cdx.json": "{ }\n", "p20export_1.2.3_linux_amd64.tar.gz": "archive",
	}
	signatures := map[string][2]string{
		"SHA256SUMS.dsse.json":                      {"SHA256SUMS", "text/plain"},
		"p20export_1.2.3.intoto.dsse.json":          {"p20export_1.2.3.intoto.jsonl", "application/vnd.in-toto+json"},
		"p20export_1.2.3_linux_amd64.cdx.dsse.json": {"p20export_1.2.3_linux_amd64.cdx.json", "application/vnd.cyclonedx+json"},
		"p20export_1.2.3_linux_arm64.cdx.dsse.json": {"p20export_1.2.3_linux_arm64.cdx.json", "application/vnd.cyclonedx+json"},
	}
	var outs []string
	for _, name := range []string{"once", "again"} {
		out := filepath.Join(dir, name)
		for name, data := range published {
			testkit.Write(t, filepath.Join(out, name), data)
		}
		r := &release{ctx: t.Context(), out: out, signers: signers}
		if err := r.sign(); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
	}
	var names []string
	for name := range published {
		names = append(names, name)
	}
	for name, of := range signatures {
		names = append(names, name)
		data := testkit.Read(t, filepath.Join(outs[0], name))
		e, err := sign.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(e.Payload) != published[of[0]] || e.PayloadType != of[1] {
			t.Errorf("%s has the payload %q of the type %s", name, e.Payload, e.PayloadType)
		}
		if len(e.Signatures) != 1 || !key.Public().Verify(dsse.PAE(e.PayloadType, e.Payload), e.Signatures[0].Bytes) {
			t.Errorf("%s has no valid signature", name)
		}
		if !bytes.Equal(testkit.Read(t, filepath.Join(outs[1], name)), data) {
			t.Errorf("%s has other bytes the second time", name)
		}
	}
	slices.Sort(names)
	testkit.RequireNames(t, outs[0], names...)
	if err := os.Remove(filepath.Join(outs[0], "SHA256SUMS")); err != nil {
		t.Fatal(err)
	}
	if err := (&release{ctx: t.Context(), out: outs[0], signers: signers}).sign(); err == nil {
		t.Error("a release without digests is signed")
	}
}

// TestKeys checks what is reported before anything is built.
func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	testkit.Write(t, path, "no key")
	for _, k := range []keys{
		{file: filepath.Join(dir, "missing")}, {file: path}, {passphrase: path}, {signer: "exit 1"},
	} {
		if signers, _, err := k.open(t.Context()); err == nil {
			t.Errorf("%+v is accepted: %v", k, signers)
		}
	}
	if signers, _, err := (keys{}).open(t.Context()); err != nil || len(signers) != 0 {
		t.Error(signers, err)
	}
}
