package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// A block is a fenced block of a document, with what follows the language.
type block struct{ name, text string }

// blocks returns the blocks of a document that begin with the fence.
func blocks(t *testing.T, doc, fence string) (list []block) {
	t.Helper()
	for rest := string(testkit.Read(t, doc)); ; {
		_, after, ok := strings.Cut(rest, "\n"+fence)
		if !ok {
			return list
		}
		name, after, _ := strings.Cut(after, "\n")
		text, after, closed := strings.Cut(after, "\n```\n")
		if !closed {
			t.Fatalf("%s: a block is not closed", doc)
		}
		list, rest = append(list, block{strings.TrimSpace(name), text + "\n"}), after
	}
}

// writeCertificate writes a certificate for 127.0.0.1 and its key.
func writeCertificate(t *testing.T, cert, key string) {
	t.Helper()
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	b, err := x509.MarshalPKCS8PrivateKey(pair.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate().Raw})))
	testkit.Write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})))
}

// execStart matches the command of a systemd service.
var execStart = regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/p20export (.*)$`)

// TestUnits checks that the commands in the systemd units have only flags that exist.
func TestUnits(t *testing.T) {
	t.Parallel()
	services := 0
	for _, unit := range blocks(t, operationsPage, "```ini") {
		found := execStart.FindStringSubmatch(strings.ReplaceAll(unit.text, "\\\n", " "))
		if found == nil {
			continue
		}
		services++
		args := strings.Fields(found[1])
		for _, c := range commands {
			if c.name != args[0] {
				continue
			}
			if err := c.new().ParseFlags(args[1:]); err != nil {
				t.Errorf("%s: %v", unit.name, err)
			}
		}
	}
	if services != 3 {
		t.Fatalf("%d services", services)
	}
}

const operationsPage = "../../docs/operations.md"
