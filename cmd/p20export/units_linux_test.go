package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

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

// unitDir has the units of the packages, and the files with their options.
const unitDir = "../../packaging/linux"

// execStart matches the command of a systemd service.
var execStart = regexp.MustCompile(`(?m)^ExecStart=/usr/bin/p20export (.*)$`)

// TestUnits checks that the commands in the systemd units have only flags that exist.
func TestUnits(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob(filepath.Join(unitDir, "*.service"))
	if err != nil || len(units) != 3 {
		t.Fatalf("%q, %v", units, err)
	}
	for _, unit := range units {
		found := execStart.FindStringSubmatch(string(testkit.Read(t, unit)))
		if found == nil {
			t.Fatalf("%s has no command", unit)
		}
		args := strings.Fields(found[1])
		if args[len(args)-1] == "$OPTIONS" {
			_, options, ok := strings.Cut(string(testkit.Read(t, filepath.Join(unitDir, args[0]+".conf"))), "\nOPTIONS=")
			if !ok {
				t.Fatalf("%s has no options", unit)
			}
			args = append(args[:1], strings.Fields(strings.ReplaceAll(options, "\\\n", " "))...)
		}
		for _, c := range commands {
			if c.name != args[0] {
				continue
			}
			if err := c.new().ParseFlags(args[1:]); err != nil || len(args) < 3 {
				t.Errorf("%s: %q: %v", unit, args, err)
			}
		}
	}
	if options := string(testkit.Read(t, filepath.Join(unitDir, "proxy.conf"))); !strings.Contains(string(testkit.Read(t, operationsPage)), options[strings.Index(options, "OPTIONS="):]) {
		t.Error("the options of the proxy are not those in the documentation")
	}
}

const operationsPage = "../../docs/operations.md"
