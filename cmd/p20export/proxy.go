package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// defaultExchanges is the default of --max-exchanges.
const defaultExchanges = 1000

// The values of --on-store-failure.
const (
	onFailurePass = "pass"
	onFailureFail = "fail"
)

// The values of --sync; the second is followed by a duration.
const (
	syncEnd      = "end"
	syncInterval = "interval="
	syncEach     = "each"
)

type proxyFlags struct {
	service *cli.Service

	upstream, onStoreFailure, sync  string
	captures                        recordingFlags
	maxBytes, queueBytes, exchanges int64
	timeout                         time.Duration

	out        string
	projection projectionFlags
	keys       signFlags
	store      *storeFlags
	seal       sealFlags
}

func newProxy() *cobra.Command {
	fl := proxyFlags{queueBytes: 64 << 20, exchanges: defaultExchanges}
	cmd := &cobra.Command{
		Use:   "proxy --listen ADDRESS --upstream URL --captures DIR",
		Short: "Record live traffic between a front end and an agent",
		Long: `Stand between a front end and an agent, pass the traffic through, and keep runs
and failed requests as captures in DIR. Point the front end at ADDRESS instead
of at the agent.

An exchange is recorded if it is a POST whose response is an event stream, or
whose status is 400 or higher. Everything else passes without being recorded.
A recorded response in an unknown framing is kept too, but cannot be frozen.

A response is passed on as it arrives, and never waits for the disk. Up to
--queue-bytes wait to be written. Beyond that, the traffic goes on and the
capture ends there, with the end "storage"; with --on-store-failure fail, the
exchange is ended instead.

The line "exchange stored" on standard error means that the capture is closed
and survives a crash. --sync says when the bytes of an open capture are made
durable. At its start, proxy recovers the captures in DIR that a crash left
unfinished.

With --freeze, closed captures are also frozen into OUT, beginning with those
that are already in DIR. This never affects the traffic; failures are only
logged. Captures that were refused are listed in OUT.refused, and tried again
only if they, the settings or the program have changed.

With --store, what is recorded is also appended to an event log, which other
programs can follow: events while they arrive, and the rest when the capture is
closed. If the event log cannot be used, the traffic and the captures go on, and
it is completed later, beginning with what is already in DIR. P20EXPORT_STORE
alone does not select an event log.

With --store and --seal, a thread is sealed when a run of it ends: the entries
that it has then are signed, so that p20export log verify can find out later
that they were changed. Sealing never delays the traffic or the event log;
failures are logged, and tried again. With a new key, give --trust with the
public key of the old one.

After SIGTERM, SIGINT or SIGHUP, new exchanges are refused, and the program ends
when all open ones have ended. After --drain, the rest are cut off and kept as
cancelled. A second signal cuts them off at once, unless it comes within half a
second.

Without --allow-remote, ADDRESS must be a loopback address, and requests whose
Host header names another machine are refused, unless --allow-host names it. A
page in a browser could send such requests.

Standard error has no content of messages and no header values.
--metrics serves /metrics for Prometheus, /healthz and /readyz.
` + serverExitHelp("exchanges", "the program could not start, or could not go on"),
		Example: `  p20export proxy --listen 127.0.0.1:8080 --upstream http://127.0.0.1:8011/ \
      --captures captures
  p20export proxy --listen 127.0.0.1:8080 --upstream https://agent.example/v1 \
      --captures captures --freeze frozen --metrics 127.0.0.1:9090 \
      --label integration=my-agent --sync interval=50ms
  p20export proxy --listen 127.0.0.1:8080 --upstream http://127.0.0.1:8011/ \
      --captures captures --store sqlite:events.db --seal seals.key.pem`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s is not expected: proxy has only flags; give the URL of the agent with --upstream", finding.QuoteURL(args[0]))
			}
			return nil
		},
	}
	fl.service = cli.AddService(cmd, "exchanges", maxInput)
	flags := cmd.Flags()
	flags.StringVar(&fl.upstream, "upstream", "", "`URL` of the agent; the path of each request is appended to its path (required)")
	fl.captures.add(cmd, "`DIR` to keep captures in, created if it does not exist (required)")
	flags.Var(cli.Number(&fl.maxBytes, "bytes"), "max-bytes", "keep at most this many `BYTES` of a response (default: no limit)")
	flags.StringVar(&fl.onStoreFailure, "on-store-failure", onFailurePass, "what to do with an exchange that cannot be stored: pass it on, or end it: `pass|fail`")
	flags.StringVar(&fl.sync, "sync", syncEnd, "when captures are made durable: `POLICY` is end, each (after each write) or, for example, interval=50ms")
	flags.Var(cli.Number(&fl.queueBytes, "bytes"), "queue-bytes", "let at most this many `BYTES` wait to be written")
	flags.StringVar(&fl.out, "freeze", "", "freeze closed captures into the directory `OUT`")
	fl.store = addStoreFlags(cmd)
	flags.Lookup("store").Usage = "append what is recorded to the event log at `URL`: sqlite:FILE or postgres://USER@HOST/DATABASE; " + storeVariable + " is not used"
	fl.projection.addChoice(cmd, project.EmittedSnapshot, "the projection for --freeze: `NAME` is emitted-snapshot, emitted-snapshot-text or folded-stream")
	fl.keys.add(cmd, "sign", "with --freeze: sign the records with the private key in `FILE` (PKCS#8, PEM; repeatable)")
	flags.Lookup("signer").Usage = "with --freeze: sign the records, not the seals, with the key of a program, which a shell starts with `COMMAND` (repeatable)"
	flags.Lookup("timestamp").Usage = "ask the time-stamp authority at `URL` (RFC 3161) for a token over each signature and each seal"
	fl.seal.addTo(cmd, fl.keys.keyFlags, "seal", "with --store: seal each thread when a run of it ends, with the private key in `FILE` (Ed25519, PKCS#8, PEM; repeatable)")
	flags.Var(cli.Duration(&fl.timeout), "timeout", "cut off an exchange after this `DURATION`, such as 90s or 5m (default: no limit)")
	flags.Var(cli.Number(&fl.exchanges, "exchanges"), "max-exchanges", "refuse requests while `N` exchanges are open")
	cli.Complete(cmd, "on-store-failure", onFailurePass, onFailureFail)
	cli.Complete(cmd, "sync", syncEnd, syncInterval+"50ms", syncEach)
	for _, name := range []string{"upstream", "max-bytes", "queue-bytes", "max-exchanges", "timeout"} {
		cli.Complete(cmd, name)
	}
	cli.CompleteBy(cmd, "freeze", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cli.Require(cmd, "listen", "upstream", "captures")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return fl.run(cmd) }
	return cmd
}
