//go:build postgres

package main

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
)

// TestPostgresLog reads a log in PostgreSQL, with the password from every place where it can
// be, and checks that it is never printed.
func TestPostgresLog(t *testing.T) {
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	passwords := strings.Fields(string(testkit.Read(t, os.Getenv("PGPASSFILE"))))
	if err != nil || address.Host == "" || len(passwords) == 0 {
		t.Fatalf("P20EXPORT_POSTGRES or PGPASSFILE is not set (%v); run make postgres", err)
	}
	password := passwords[0][strings.LastIndexByte(passwords[0], ':')+1:]
	file := filepath.Join(t.TempDir(), "password")
	testkit.Write(t, file, password+"\nmore\n")
	wrong := filepath.Join(t.TempDir(), "wrong")
	testkit.Write(t, wrong, "hunter2\n")
	t.Setenv("PGPASSFILE", os.DevNull)
	address.RawQuery = "search_path=command_line"
	try := func(status int, want string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		got := run(append(args, "--store", address.String()), &stdout, &stderr)
		text := stdout.String() + stderr.String()
		if got != status || !strings.Contains(text, want) {
			t.Errorf("p20export %s: exit status %d, want %d and %q\n%s", strings.Join(args, " "), got, status, want, text)
		}
		if strings.Contains(text, password) || strings.Contains(text, "hunter2") {
			t.Errorf("p20export %s prints the password:\n%s", strings.Join(args, " "), text)
		}
	}
	withPassword := *address
	withPassword.User = url.UserPassword(address.User.Username(), password)

	try(exitFailed, "there is no log", "log", "threads", "--password-file", file)
	try(exitFailed, "there is no log", "log", "threads", "--password-file", file) // the first did not create it
	log, err := postgres.Open(context.Background(), withPassword.String(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	key := store.Key{Thread: "t"}
	if _, err := log.Append(context.Background(), key, 0, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(testkit.Started)}, {Stream: "s", Kind: store.Event, Data: []byte(testkit.Finished)}}); err != nil {
		t.Fatal(err)
	}

	try(exitFailed, "PGPASSWORD", "log", "threads")
	try(exitFailed, "\nnext: give the password with --password-file FILE, whose first line it is, or in PGPASSWORD or PGPASSFILE\n", "log", "threads", "--password-file", wrong)
	try(exitDone, "t ", "log", "threads", "--password-file", file)
	try(exitDone, testkit.Started+"\n"+testkit.Finished+"\n", "log", "cat", "t", "--password-file", file)
	try(exitDone, `"store":"postgres://`, "log", "stat", "--format", "json", "--password-file", file)
	try(exitFailed, `the most similar are "t"`, "log", "cat", "u", "--password-file", file)
	try(exitDone, "1 run, 1 branch", "lineage", "t", "--password-file", file)
	try(exitDone, "as of     position 2", "log", "restore", "t", "--password-file", file)
	t.Setenv("PGPASSWORD", password)
	try(exitDone, "t ", "log", "threads")
	try(exitDone, "2 entries packed", "log", "pack", "--all")
	try(exitDone, "deleted   t", "log", "delete", "t")
	t.Setenv("PGPASSWORD", "")

	// The variable can have the password, and is not printed either.
	t.Setenv(storeVariable, withPassword.String())
	var stdout, stderr bytes.Buffer
	if status := run([]string{"log", "stat"}, &stdout, &stderr); status != exitDone || strings.Contains(stdout.String()+stderr.String(), password) || !strings.HasPrefix(stdout.String(), address.String()) {
		t.Errorf("exit status %d\n%s%s", status, stdout.String(), stderr.String())
	}

	database := *address
	address.Path = "/nowhere"
	try(exitFailed, "create the database", "log", "threads", "--password-file", file)
	*address = database
	address.Host = "127.0.0.1:1"
	try(exitFailed, "cannot be reached", "log", "threads", "--password-file", file)
	address.RawQuery = "synchronous_commit=off"
	try(exitFailed, "synchronous_commit", "log", "threads", "--password-file", file)
}
