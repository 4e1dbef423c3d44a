package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

// Every flag is checked before anything is created. The error names the flag and says what
// to give instead.
func TestProxyRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	used := prepareRefusals(t)
	busy := used.Addr().String()
	if err := errors.Join(os.Mkdir("dir", 0o755), os.Symlink("dir", "link")); err != nil {
		t.Fatal(err)
	}
	for _, test := range append(refusals(busy), []refusal{
		{"extra", 2, `"extra" is not expected: proxy has only flags; give the URL of the agent with --upstream`},
		{"--upstream ftp://h", 2, `--upstream "ftp://h" must be the URL of the agent, such as http://127.0.0.1:8011/`},
		{"--upstream h:80", 2, `--upstream "h:80" must be the URL`},
		{"--upstream http://h:65536/", 2, `--upstream "http://h:65536/" must be the URL`},
		{"--upstream http://h:0/", 2, `--upstream "http://h:0/" must be the URL`},
		{"--upstream http://:80/", 2, `--upstream "http://:80/" must be the URL`},
		{"--upstream http://u:secret@h/", 2, "--upstream cannot have a user or a password; the front end sends the credentials"},
		{"--upstream http://h/?q", 2, `--upstream "http://h/?…" cannot have a query or a fragment; give only`},
		{"--upstream http://h/#f", 2, "cannot have a query or a fragment"},
		{"--captures cap/x", 2, "--captures cap/x is inside the capture"},
		{"--captures link", 3, "cannot serve: --captures: link is a symbolic link, not a directory"},
		{"--captures link/", 3, "is a symbolic link"},
		{"--label x", 2, `--label "x" must be KEY=VALUE`},
		{"--label recovered-from=x", 2, "--label recovered-from: p20export itself sets this label; choose another key"},
		{"--max-bytes 0", 2, `"--max-bytes" flag: must be a number of bytes, at least 1 and without a unit`},
		{"--max-bytes 64M", 2, `"--max-bytes" flag: must be a number of bytes, at least 1 and without a unit`},
		{"--queue-bytes -1", 2, `"--queue-bytes" flag: must be a number of bytes, at least 1`},
		{"--max-request-bytes x", 2, `"--max-request-bytes" flag: must be a number of bytes, at least 1`},
		{"--max-exchanges 0", 2, `"--max-exchanges" flag: must be a number of exchanges, at least 1`},
		{"--on-store-failure ignore", 2, `--on-store-failure "ignore": must be pass or fail`},
		{"--sync never", 2, `--sync "never": must be end, each, or interval= with a duration such as interval=50ms`},
		{"--sync interval=", 2, `--sync "interval=": must be`},
		{"--sync interval=0s", 2, `--sync "interval=0s": must be`},
		{"--sync interval=50", 2, `--sync "interval=50": must be`},
		{"--snapshot last", 2, "--snapshot needs --freeze OUT, which freezes the captures"},
		{"--projection folded-stream", 2, "--projection needs --freeze OUT"},
		{"--profile assay", 2, "--profile needs --freeze OUT"},
		{"--sign k", 2, "--sign needs --freeze OUT"},
		{"--signer k", 2, "--signer needs --freeze OUT"},
		{"--timestamp http://h/", 2, "--timestamp needs --sign, --signer or --seal: a time-stamp is over a signature"},
		{"--passphrase-file file", 2, "a passphrase is only for --sign or --seal"},
		{"--freeze out --signer k --passphrase-file file", 2, "a passphrase is only for --sign or --seal"},
		{"--store sqlite:e.db --seal=", 2, "--seal is empty; name the file of a private key"},
		{"--seal k", 2, "--seal needs --store URL, which names the log whose threads are sealed"},
		{"--store sqlite:e.db --origin a", 2, "--origin needs --seal: the key that signs seals"},
		{"--store sqlite:e.db --witness http://h/", 2, "--witness needs --seal: the key that signs seals"},
		{"--store sqlite:e.db --seal k --witness http://h/", 2, "--witness needs --witness-key: the key with which the witness signs"},
		{"--store sqlite:e.db --seal k --timestamp h", 2, `--timestamp "h" is not the http or https URL of a time-stamp authority`},
		{"--store sqlite:e.db --seal none", 3, "cannot read the input: --seal: none does not exist"},
		{"--store sqlite:e.db --seal file", 2, `--seal "file": `},
		{"--freeze=", 2, "--freeze is empty; name a directory for the frozen files"},
		{"--freeze cap", 2, "--freeze cap is a capture; nothing may be written there"},
		{"--freeze store", 2, `--freeze "store" is in --captures "store"; name a directory outside it`},
		{"--freeze store/../store/a/b", 2, `is in --captures "store"; name a directory outside it`},
		{"--captures dir --freeze link/frozen", 2, `--freeze "link/frozen" is in --captures "dir"; name a directory outside it`},
		{"--freeze file/out", 3, "cannot serve: --freeze: "},
		{"--freeze file", 2, `--freeze "file" is not a directory; name a directory`},
		{"--freeze out --projection x", 2, `projection "x" is not known; the projections are`},
		{"--freeze out --snapshot first", 2, "only the projection emitted-snapshot-text selects a snapshot"},
		{"--drain -1s", 2, "--drain cannot be negative; 0s cuts open exchanges off at once"},
		{"--timeout -1s", 2, "--timeout cannot be negative; without it there is no limit"},
	}...) {
		test.check(t, "store", "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--captures", "store")
		os.Remove("store")
	}
	// A proxy of itself.
	used.Close()
	port := strings.TrimPrefix(busy, "127.0.0.1")
	for _, upstream := range []string{"http://" + busy, "http://localhost" + port, "http://LocalHost" + port, "http://localhost." + port, "http://agent.localhost" + port} {
		var stderr bytes.Buffer
		if status := run([]string{"proxy", "--listen", busy, "--upstream", upstream, "--captures", "store"}, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "is the address of --listen; give the address of the agent") {
			t.Errorf("%s: exit status %d\n%s", upstream, status, stderr.String())
		}
	}
}

// Every open exchange needs files, and so does the program itself.
func TestProxyOpenFiles(t *testing.T) {
	for limit, want := range map[int64]int64{0: 0, 50: 0, 106: 1, 6099: 999, 6100: 1000, math.MaxInt64: (math.MaxInt64 - 100) / 6} {
		if got := enoughFor(limit, filesOfExchange); got != want {
			t.Errorf("%d files are enough for %d exchanges, want %d", limit, got, want)
		}
	}
}
