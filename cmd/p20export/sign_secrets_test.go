package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
)

// TestSecretsOfKeys makes the commands that read keys and passphrases fail in many ways. No
// output contains a part of a key, or the passphrase. The environment has neither.
func TestSecretsOfKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const phrase, other = "correct-horse-hunter2", "battery-staple-hunter3"
	testkit.Write(t, in("phrase"), phrase+"\n")
	testkit.Write(t, in("other"), other+"\n")
	trace(t, render.Done, "keygen", in("ann"))
	trace(t, render.Done, "keygen", in("bob"), "--type", "ecdsa-p256")
	trace(t, render.Done, "keygen", in("carl"), "--passphrase-file", in("phrase"))
	trace(t, render.Done, "freeze", committedCapture, "-o", in("out"))
	secrets := []string{phrase, other, "hunter2", "hunter3"}
	for _, name := range []string{"ann", "bob", "carl"} {
		file := testkit.Read(t, in(name+".key.pem"))
		block, _ := pem.Decode(file)
		der := block.Bytes
		if name == "ann" {
			der = der[len(der)-32:] // the seed; what is before it is the same for all keys
		}
		secrets = append(secrets, encodings(der)...)
		for line := range strings.Lines(string(file)) {
			if line = strings.TrimSpace(line); len(line) > 20 && !strings.HasPrefix(line, "-----") {
				secrets = append(secrets, line)
			}
		}
		testkit.Write(t, in(name+".cut.pem"), file[:len(file)/2])
		testkit.Write(t, in(name+".twice.pem"), append(file, file...))
		testkit.Write(t, in(name+".headers.pem"), bytes.Replace(file, []byte("-----\n"), []byte("-----\nDEK-Info: x\n\n"), 1))
		testkit.Write(t, in(name+".named.pem"), bytes.ReplaceAll(file, []byte(" PRIVATE KEY"), []byte(" PUBLIC KEY")))
		testkit.Write(t, in(name+".bare.pem"), base64.StdEncoding.EncodeToString(block.Bytes)+"\n")
		testkit.Write(t, in(name+".raw.pem"), block.Bytes)
	}
	refuses := authority.New(t).Serve(func(a *authority.Answer) { a.Status, a.Text = 2, "no" })
	if err := os.Mkdir(in("readonly"), 0o777); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, in("readonly/one-turn.record.dsse.json"), testkit.Read(t, in("ann.key.pem")))
	testkit.Write(t, in("readonly/one-turn.record.json"), testkit.Read(t, in("out/one-turn.record.json")))
	cases := 0
	fails := func(args ...string) {
		t.Helper()
		for _, format := range []string{"text", "json"} {
			var stdout, stderr bytes.Buffer
			status := run(append(args, "--format", format), &stdout, &stderr)
			said := stdout.String() + stderr.String()
			if status == 0 {
				t.Errorf("%q: exit status 0\n%s", args, said)
			}
			for _, secret := range secrets {
				if strings.Contains(strings.Join(strings.Fields(said), ""), strings.Join(strings.Fields(secret), "")) {
					t.Errorf("%q: the output has the secret %q:\n%s", args, secret, said)
				}
			}
			cases++
		}
	}
	for _, name := range []string{"ann", "bob", "carl"} {
		for _, kind := range []string{".key.pem", ".cut.pem", ".twice.pem", ".headers.pem", ".named.pem", ".bare.pem", ".raw.pem"} {
			file := in(name + kind)
			for _, given := range [][]string{nil, {"--passphrase-file", in("other")}, {"--passphrase-file", in("phrase")}} {
				for _, key := range []string{"--key", "--sign"} {
					args := []string{"sign", in("out")}
					if key == "--sign" {
						args = []string{"freeze", committedCapture, "-o", in("frozen")}
					}
					fails(append(append(args, key, file, "--timestamp", refuses), given...)...)
				}
			}
			fails("verify", in("out"), "--trust", file)
			fails("sign", in("out"), "--key", in("missing"), "--key", file)
			fails("sign", in("readonly"), "--key", file, "--passphrase-file", in("phrase"))
			fails("sign", file, "--key", file)
			fails("timestamp", file, "--timestamp", refuses)
			fails("sign", in("out"), "--signer", "cat "+file)
		}
		fails("keygen", in(name))
		fails("keygen", in(name), "--passphrase-file", in("phrase"))
		fails("keygen", in("missing/x"), "--passphrase-file", in("other"))
	}
	if cases < 100 {
		t.Errorf("only %d cases", cases)
	}
	testkit.RequireNames(t, in("out"), "one-turn.artifact.json", "one-turn.envelope.ndjson", "one-turn.record.json")
}

// encodings returns the forms in which bytes could be in an output.
func encodings(b []byte) []string {
	return []string{string(b), hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)), base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b)}
}
