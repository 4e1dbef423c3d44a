package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// Every flag of serve is checked before anything is created. The error names the flag and
// says what to give instead.
func TestServeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	busy := prepareRefusals(t).Addr().String()
	for _, test := range append(refusals(busy), []refusal{
		{"extra", 2, `"extra" is not expected: serve has only flags; name an agent with --upstream NAME=URL`},
		{"--upstream http://u:secret@h/?a=b", 2, "--upstream must be NAME=URL, such as chat=http://127.0.0.1:8011/"},
		{"--upstream secret", 2, "--upstream must be NAME=URL"},
		{"--upstream =http://h/", 2, `--upstream "": the name must have 1 to 64 letters, digits`},
		{"--upstream .=http://h/", 2, `--upstream ".": the name must`},
		{"--upstream a%2Fb=http://h/", 2, `--upstream "a%2Fb": the name must`},
		{"--upstream a=http://h/ --upstream a=http://i/", 2, `--upstream "a" is given twice; give each agent a name of its own`},
		{"--upstream b=ftp://h", 2, `--upstream "ftp://h" must be the URL of the agent, such as http://127.0.0.1:8011/`},
		{"--upstream b=http://u:secret@h/", 2, "--upstream cannot have a user or a password"},
		{"--thread-policy wait", 2, `--thread-policy "wait": must be replace, refuse or queue`},
		{"--max-queued 3 --thread-policy refuse", 2, "--max-queued needs --thread-policy queue; otherwise no request waits"},
		{"--run-timeout -1s", 2, "--run-timeout cannot be negative; without it there is no limit"},
		{"--run-timeout 5", 2, `"--run-timeout" flag: give a unit, such as 5s`},
		{"--append-timeout 9s", 2, "--append-timeout needs --allow-append, which lets clients append events"},
		{"--allow-append --append-timeout 0s", 2, "--append-timeout must be positive, such as 30s"},
		{"--reader-timeout 0s", 2, "--reader-timeout must be positive, such as 30s"},
		{"--max-runs 0", 2, `"--max-runs" flag: must be a number of runs, at least 1`},
		{"--max-readers x", 2, `"--max-readers" flag: must be a number of readers, at least 1`},
		{"--reader-bytes 0", 2, `"--reader-bytes" flag: must be a number of bytes, at least 1`},
		{"--event-bytes 1k", 2, `"--event-bytes" flag: must be a number of bytes, at least 1`},
		{"--max-threads -1", 2, `"--max-threads" flag: must be a number of threads, at least 1`},
		{"--ticket-ttl 0s", 2, "--ticket-ttl must be positive, such as 5m"},
		{"--ticket-key-file=", 2, "--ticket-key-file is empty; name the file with the key"},
		{"--ticket-key-file none", 2, "--ticket-key-file: none does not exist"},
		{"--token-file=", 2, "--token-file is empty; name the file with the tokens"},
		{"--token-file file --tenant a", 2, "give either --tenant or --token-file: the file names the tenant of each token"},
		{"--trusted-proxy 10.0.0.1 --tenant a", 2, "give either --tenant or --trusted-proxy: the proxy names the tenant of each request"},
		{"--max-tenant-runs 0", 2, `"--max-tenant-runs" flag: must be a number of runs, at least 1`},
		{"--max-tenant-readers 0", 2, `"--max-tenant-readers" flag: must be a number of readers, at least 1`},
		{"--token-file none", 3, "cannot serve: --token-file: the token file cannot be used: none does not exist\nnext: give a file with lines"},
		{"--token-file file", 3, "cannot serve: --token-file: the token file cannot be used: file: line 1"},
		{"--trusted-proxy nginx", 2, `--trusted-proxy "nginx" must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8`},
		{"--trusted-proxy 10.1.2.3/8", 2, `--trusted-proxy "10.1.2.3/8" has bits after the length of its prefix; did you mean 10.0.0.0/8?`},
		{"--allow-origin *", 2, "--allow-origin * would let every page in the browser of a visitor use the threads; name each origin"},
		{"--allow-origin example.com", 2, `--allow-origin "example.com": an origin is a scheme, a host and a port`},
		{"--seal=", 2, "--seal is empty; name the file of a private key"},
		{"--seal none", 3, "cannot read the input: --seal: none does not exist"},
		{"--seal file", 2, `--seal "file": `},
		{"--timestamp http://h/", 2, "--timestamp needs --seal or --signer: a time-stamp is over a signature"},
		{"--passphrase-file file", 2, "a passphrase is only for --seal"},
		{"--witness-key k", 2, "--witness-key needs --seal: the key that signs seals"},
		{"--trust k", 2, "--trust needs --seal: the key that signs seals"},
		{"--seal k --witness h", 2, `--witness "h" is not the http or https URL of a witness`},
		{"--seal k --origin a+b", 2, `--origin "a+b": it has a space, a +`},
		{"--drain -1s", 2, "--drain cannot be negative; 0s cuts open runs off at once"},
		{"--label a=b", 2, "--label needs --captures DIR, which keeps captures"},
		{"--captures c --label tenant=x", 2, "--label tenant: p20export itself sets this label; choose another key"},
		{"--captures . --store sqlite:x.db", 2, `--store "sqlite:x.db" is in --captures "."; name a file outside it`},
		{"--store x.db", 2, "--store: not the URL of a log"},
		{"--store postgres://me:secret@localhost/x", 2, "--store contains a password"},
		{"--store sqlite:file", 3, "cannot use the log"},
		{"--store sqlite:none/x.db", 3, "cannot use the log"},
		{"--listen " + busy + " --upstream b=http://" + busy, 3, "address already in use"},
	}...) {
		test.check(t, "events.db", "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:events.db", "--upstream", "a=http://127.0.0.1:1/")
		for _, name := range []string{"events.db", "events.db-serve"} {
			os.Remove(name)
		}
	}
	// Without agents, serve only reads.
	for args, want := range map[string]string{
		"--captures c":                     "--captures needs --upstream NAME=URL, which names an agent to run",
		"--event-bytes 5":                  "--event-bytes needs --upstream NAME=URL",
		"--thread-policy queue":            "--thread-policy needs --upstream NAME=URL",
		"--seal k":                         "--seal needs --upstream NAME=URL or --allow-append: a server that only reads ends no run",
		"--run-timeout 5s --max-runs 3":    "--run-timeout needs --upstream NAME=URL",
		"":                                 "next: check --store",
		"--store=":                         "name the log with --store sqlite:FILE or --store postgres://USER@HOST/DATABASE, or in P20EXPORT_STORE",
		"--tenant a --allow-origin http:/": "an origin is a scheme, a host and a port",
	} {
		var stderr bytes.Buffer
		status := run(append([]string{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:events.db"}, strings.Fields(args)...), io.Discard, &stderr)
		if got := stderr.String(); status == 0 || !strings.Contains(got, want) {
			t.Errorf("%s: exit status %d, want %s\n%s", args, status, want, got)
		}
		if _, err := os.Lstat("events.db"); err == nil {
			t.Errorf("%s: a log was created", args)
		}
	}
}
