package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/serve"
)

// The defaults of limits.
const (
	defaultRuns    = 1000
	defaultQueued  = 1000
	defaultReaders = 10_000
)

// The values of --thread-policy.
const (
	policyReplace = string(serve.Replace)
	policyRefuse  = string(serve.Refuse)
	policyQueue   = string(serve.Queue)
)

type serveFlags struct {
	service *cli.Service
	store   *storeFlags
	seal    sealFlags

	upstreams []string
	captures  recordingFlags
	recording bool // whether --captures is given
	policy    string
	runTime   time.Duration
	cookies   bool

	tokens           string
	origins, proxies []string

	runs, queued, threads, readers int64
	tenantRuns, tenantReaders      int64
	readerBytes, eventBytes        int64
	readerTime, ticketTime         time.Duration
	ticketKey                      string
	allowAppend, ui                bool
	appendTime                     time.Duration
}

func newServe() *cobra.Command {
	fl := serveFlags{runs: defaultRuns, queued: defaultQueued, readers: defaultReaders, readerBytes: serve.DefaultReaderBytes, eventBytes: proxy.DefaultEventBytes, readerTime: serve.DefaultReaderTimeout, ticketTime: serve.DefaultTicketTTL, appendTime: serve.DefaultAppendTimeout}
	cmd := &cobra.Command{
		Use:   "serve --store URL --listen ADDRESS [--upstream NAME=URL]...",
		Short: "Run agents so that clients can leave, join and come back",
		Long: `Serve the threads of an event log over HTTP, and run agents in them. A client
that reloads, loses its network or joins late gets the history and then the live
events, none missing and none twice. Any AG-UI agent will do, unchanged. Point
the front end at http://ADDRESS/agents/NAME instead of at the agent.

  POST /agents/NAME                 run the agent, or attach to the same run
  POST /threads/ID/connect          what a client needs to join a thread, then
                                    the live events; so does
                                    POST /agents/NAME/connect
  GET /threads/ID/events            all events; Last-Event-ID or ?after=
                                    continues, ?view=compact is shorter
  GET /streams/ID[/RUN]             the same for clients of Durable Streams
  POST /threads/ID/ticket           a ticket to read events for some minutes,
                                    as ?ticket=, for EventSource in browsers
  POST /threads/ID/runs/RUN/cancel  end a run
  GET /threads                      list threads
  GET /threads/ID/runs              the runs of a thread and their lineage
  GET /threads/ID/restore           messages and state after a run
  GET /threads/ID/moment            messages and state at any position, and what
                                    changed there; docs/serve.md has more routes
  GET /threads/ID/checkpoint        the last seal of a thread
  GET /threads/ID/proof             a proof that a sealed thread has an entry,
                                    with ?at=POSITION, or a run, with ?run=ID
  GET /agents                       list the agents
  GET /                             a window on the threads, for browsers
  POST /threads/ID/events           append the events of a run that no agent of
                                    this server answers; needs --allow-append

A run belongs to the server, not to the client that started it: it goes on when
the client leaves. An event reaches a client only when it is durable in the log.
The same request sent again attaches to its run and does not start another.
Without --upstream and --allow-append, serve only reads.

At most one run at a time is active in a thread. --thread-policy says what
happens to a request for another: replace cancels the active run if the client
that started it has left, and otherwise answers 409; refuse always answers 409;
and queue makes it wait.

With --captures, each run is also recorded as a capture, as proxy does. What
serve itself adds to a run, such as the end of a run whose server was killed, is
marked in the log, and is never part of a capture or of an artifact.

With --seal, a thread is sealed when a run of it ends: the entries that it has
then are signed, so that p20export log verify can find out later that they were
changed. Sealing delays neither runs nor readers; failures are logged, and tried
again. With --witness, another party cosigns each seal, and with --timestamp, an
authority adds the time. With a new key, give --trust with the public key of the
old one. docs/seals.md says what a seal shows.

Several servers can share one PostgreSQL log; each run belongs to one of them,
and clients can join it at any. A SQLite log can have one server that runs
agents; the second says so and ends with status 3. Runs of a server that was
killed are closed in the log by the next one, with a RUN_ERROR that says so.

Without --token-file and --trusted-proxy, whoever can connect can read all
threads of --tenant. A line of the file of --token-file is TENANT sha256:HEX,
with the SHA-256 of a random token; clients send the token as
Authorization: Bearer. The peers of --trusted-proxy name the tenant in the
header P20export-Tenant. A tenant sees only its own threads. To append events, a
token needs the word append at the end of its line, and a request of such a peer
the header P20export-Scope: append. With both flags, a request of such a peer
that names a tenant needs no token, and a token in it does not count: trust an
address only if all programs there may name any tenant.

Without --allow-remote, ADDRESS must be a loopback address, and requests whose
Host header names another machine are refused, unless --allow-host names it. A
page in a browser can send requests only if it has the same origin, or if
--allow-origin gives its origin. With --allow-remote, serve TLS with --tls-cert
and --tls-key, or behind a web server that does.

Without --allow-remote, or with --ui, / is a window on the threads for browsers:
what was said, the runs and their branches, and the messages and the state at
any position (docs/window.md). Its files need no token, but it asks for one when
--token-file is given.

After SIGTERM, SIGINT or SIGHUP, new runs are refused, and the program ends when
all active ones have ended. Until then, no other server can listen on ADDRESS or
run agents in the same SQLite log. After --drain, the rest are ended with a
RUN_ERROR. A second signal ends them at once, unless it comes within half a
second.

Standard error has no content of messages and no header values.
--metrics serves /metrics for Prometheus, /healthz and /readyz.
` + serverExitHelp("runs", "the program could not start, or could not go on"),
		Example: `  p20export serve --store sqlite:events.db --listen 127.0.0.1:8080 \
      --upstream chat=http://127.0.0.1:8011/
  p20export serve --store postgres://agents@db/agents --listen 127.0.0.1:8080 \
      --upstream chat=http://127.0.0.1:8011/ --captures captures \
      --trusted-proxy 127.0.0.1 --metrics 127.0.0.1:9090
  p20export serve --store sqlite:events.db --listen 127.0.0.1:8080 \
      --upstream chat=http://127.0.0.1:8011/ --token-file tokens \
      --allow-origin http://localhost:5173`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s is not expected: serve has only flags; name an agent with --upstream NAME=URL", finding.QuoteURL(args[0]))
			}
			return nil
		},
	}
	fl.service = cli.AddService(cmd, "runs", maxInput)
	fl.store = addStoreFlags(cmd)
	fl.captures.add(cmd, "also record runs as captures in `DIR`, created if it does not exist")
	flags := cmd.Flags()
	flags.Lookup("label").Usage = "label `KEY=VALUE` to store in the manifest of each capture; needs --captures (repeatable)"
	flags.Lookup("tenant").Usage = "`NAME` of the tenant of all clients, without --token-file and --trusted-proxy (default: the tenant without a name)"
	fl.seal.add(cmd, "seal", "seal each thread when a run of it ends, with the private key in `FILE` (Ed25519, PKCS#8, PEM; repeatable)")
	flags.Lookup("signer").Usage = "seal with the Ed25519 key of a program, which signs the checkpoints of seals; a shell starts it with `COMMAND` (repeatable)"
	flags.Lookup("timestamp").Usage = "ask the time-stamp authority at `URL` (RFC 3161) for a token over each seal"
	flags.StringArrayVar(&fl.upstreams, "upstream", nil, "run the agent at URL for POST /agents/NAME: `NAME=URL` (repeatable)")
	flags.StringVar(&fl.policy, "thread-policy", policyReplace, "while another run is active in the thread of a request: `replace|refuse|queue`")
	flags.BoolVar(&fl.cookies, "pass-cookies", false, "pass cookies of clients to the agents, and those of agents to the clients that start runs")
	flags.BoolVar(&fl.allowAppend, "allow-append", false, "let clients append the events of runs with POST /threads/ID/events; with --token-file, tokens whose lines end with append")
	flags.BoolVar(&fl.ui, "ui", false, "serve the window on threads for browsers at / (default: only without --allow-remote)")
	flags.Var(cli.Duration(&fl.appendTime), "append-timeout", "end a run whose producer has appended nothing for this `DURATION`")
	flags.Var(cli.Duration(&fl.runTime), "run-timeout", "end a run after this `DURATION`, longer than any should take, such as 10m (default: 0s, no limit)")
	flags.Var(cli.Duration(&fl.ticketTime), "ticket-ttl", "let a ticket of POST /threads/ID/ticket be used for this `DURATION`")
	flags.StringVar(&fl.ticketKey, "ticket-key-file", "", "sign tickets with the key in `FILE`, at least 32 random bytes, so that servers with the same file accept each other's (default: a key of this process)")
	flags.StringVar(&fl.tokens, "token-file", "", "accept only clients with a token of `FILE`, or of --trusted-proxy; its lines are TENANT sha256:HEX")
	flags.StringArrayVar(&fl.proxies, "trusted-proxy", nil, "`CIDR` of peers whose header P20export-Tenant names the tenant, also if they send a token (repeatable)")
	flags.StringArrayVar(&fl.origins, "allow-origin", nil, "let pages of this `ORIGIN` use the server, such as http://localhost:5173 (repeatable)")
	flags.Var(cli.Number(&fl.runs, "runs"), "max-runs", "refuse runs while `N` are active; each, with its client, takes about 0.5 MB of memory and 2 open files, or 6 with --captures")
	flags.Var(cli.Number(&fl.tenantRuns, "runs"), "max-tenant-runs", "refuse runs of a tenant while `N` of its runs are active (default: as --max-runs)")
	flags.Var(cli.Number(&fl.queued, "requests"), "max-queued", "refuse runs while `N` requests wait for their threads")
	flags.Var(cli.Number(&fl.threads, "threads"), "max-threads", "refuse runs in new threads when a tenant has `N` (no limit without this flag)")
	flags.Var(cli.Number(&fl.readers, "readers"), "max-readers", "refuse readers while there are `N`; each takes an open file, and --reader-bytes limits their memory")
	flags.Var(cli.Number(&fl.tenantReaders, "readers"), "max-tenant-readers", "refuse readers of a tenant while it has `N` (default: as --max-readers, or half of it with --token-file or --trusted-proxy)")
	flags.Var(cli.Number(&fl.readerBytes, "bytes"), "reader-bytes", "refuse readers that need more than `BYTES` of memory together")
	flags.Var(cli.Number(&fl.eventBytes, "bytes"), "event-bytes", "let unfinished events of agents have this many `BYTES` together")
	flags.Var(cli.Duration(&fl.readerTime), "reader-timeout", "disconnect a reader that accepts nothing for this `DURATION`, longer than the pauses of its network; it can join again")
	cli.Complete(cmd, "thread-policy", policyReplace, policyRefuse, policyQueue)
	for _, name := range []string{"upstream", "append-timeout", "run-timeout", "trusted-proxy", "allow-origin", "max-runs", "max-tenant-runs", "max-queued", "max-threads", "max-readers", "max-tenant-readers", "reader-bytes", "event-bytes", "reader-timeout"} {
		cli.Complete(cmd, name)
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cli.Require(cmd, "listen")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return fl.run(cmd) }
	return cmd
}
