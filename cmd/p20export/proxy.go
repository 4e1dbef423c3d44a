package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/store"
)

// The defaults of proxy.
const (
	defaultDrain     = 30 * time.Second
	defaultExchanges = 1000
)

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
	server *cli.Server

	upstream, captures         string
	labels, hosts              []string
	onStoreFailure, sync       string
	maxBytes, queueBytes       int64
	maxRequestBytes, exchanges int64
	metrics                    string
	certificate, key           string
	drain, timeout             time.Duration

	out        string
	projection projectionFlags
	store      *storeFlags
}

func newProxy() *cobra.Command {
	fl := proxyFlags{queueBytes: 64 << 20, maxRequestBytes: maxInput, exchanges: defaultExchanges, drain: defaultDrain}
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
logged.

With --store, what is recorded is also appended to an event log, which other
programs can follow: events while they arrive, and the rest when the capture is
closed. If the event log cannot be used, the traffic and the captures go on, and
it is completed later, beginning with what is already in DIR. P20EXPORT_STORE
alone does not select an event log.

After SIGTERM, SIGINT or SIGHUP, new exchanges are refused, and the program ends
when all open ones have ended. After --drain, or at a second signal half a
second or more after the first, the rest are cut off and kept as cancelled.

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
      --captures captures --store sqlite:events.db`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s is not expected: proxy has only flags; give the URL of the agent with --upstream", finding.Quote(args[0]))
			}
			return nil
		},
	}
	fl.server = cli.AddServer(cmd)
	flags := cmd.Flags()
	flags.StringVar(&fl.upstream, "upstream", "", "`URL` of the agent; the path of each request is appended to its path (required)")
	flags.StringVar(&fl.captures, "captures", "", "`DIR` to keep captures in, created if it does not exist (required)")
	flags.StringArrayVar(&fl.labels, "label", nil, "label `KEY=VALUE` to store in every manifest (repeatable)")
	flags.Var(numberFlag{&fl.maxBytes, "bytes"}, "max-bytes", "keep at most this many `BYTES` of a response (default: no limit)")
	flags.StringVar(&fl.onStoreFailure, "on-store-failure", onFailurePass, "what to do with an exchange that cannot be stored: pass it on, or end it: `pass|fail`")
	flags.StringVar(&fl.sync, "sync", syncEnd, "when captures are made durable: `POLICY` is end, each (after each write) or, for example, interval=50ms")
	flags.Var(numberFlag{&fl.queueBytes, "bytes"}, "queue-bytes", "let at most this many `BYTES` wait to be written")
	flags.StringVar(&fl.out, "freeze", "", "freeze closed captures into the directory `OUT`")
	fl.store = addStoreFlags(cmd)
	flags.Lookup("store").Usage = "append what is recorded to the event log at `URL`: sqlite:FILE or postgres://USER@HOST/DATABASE; " + storeVariable + " is not used"
	fl.projection.addChoice(cmd, project.EmittedSnapshot, "the projection for --freeze: `NAME` is emitted-snapshot, emitted-snapshot-text or folded-stream")
	flags.StringVar(&fl.metrics, "metrics", "", "`ADDRESS` for metrics and health checks, such as 127.0.0.1:9090")
	flags.StringVar(&fl.certificate, "tls-cert", "", "serve TLS with the certificate chain in `FILE`, in PEM format")
	flags.StringVar(&fl.key, "tls-key", "", "`FILE` with the private key of --tls-cert, in PEM format")
	flags.Var(durationFlag{&fl.drain}, "drain", "wait this `DURATION` for open exchanges after a signal")
	flags.Var(durationFlag{&fl.timeout}, "timeout", "cut off an exchange after this `DURATION`, such as 90s or 5m (default: no limit)")
	flags.Var(numberFlag{&fl.maxRequestBytes, "bytes"}, "max-request-bytes", "refuse requests with more `BYTES`")
	flags.Var(numberFlag{&fl.exchanges, "exchanges"}, "max-exchanges", "refuse requests while `N` exchanges are open")
	flags.StringArrayVar(&fl.hosts, "allow-host", nil, "accept requests for the host `NAME`; with --allow-remote, accept only these and loopback names (repeatable)")
	cli.Complete(cmd, "on-store-failure", onFailurePass, onFailureFail)
	cli.Complete(cmd, "sync", syncEnd, syncInterval+"50ms", syncEach)
	for _, name := range []string{"upstream", "label", "metrics", "allow-host", "max-bytes", "queue-bytes", "max-request-bytes", "max-exchanges", "drain", "timeout"} {
		cli.Complete(cmd, name)
	}
	for _, name := range []string{"captures", "freeze"} {
		cli.CompleteBy(cmd, name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cli.Require(cmd, "listen", "upstream", "captures")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return fl.run(cmd) }
	return cmd
}

// hostName matches the name of a host.
var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`) })

// numberFlag is the value of a flag that is a positive number of something.
type numberFlag struct {
	value *int64
	of    string
}

// String implements pflag.Value.
func (f numberFlag) String() string {
	if f.value == nil || *f.value == 0 {
		return ""
	}
	return strconv.FormatInt(*f.value, 10)
}

// Set implements pflag.Value.
func (f numberFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("must be a number of %s, at least 1 and without a unit", f.of)
	}
	*f.value = n
	return nil
}

// Type implements pflag.Value.
func (numberFlag) Type() string { return "number" }

// settings returns the settings that the flags describe, without what has to be opened.
func (fl *proxyFlags) settings(cmd *cobra.Command) (s proxy.Settings, err error) {
	s = proxy.Settings{
		Tool: capture.Tool(build.Tool()), MaxBytes: fl.maxBytes, QueueBytes: fl.queueBytes, MaxRequestBytes: fl.maxRequestBytes,
		MaxExchanges: int(min(fl.exchanges, 1<<30)), Timeout: fl.timeout, AllowedHosts: fl.hosts, AllowRemote: fl.server.AllowRemote,
	}
	if err := fl.server.CheckAddress("listen", fl.server.Address); err != nil {
		return s, err
	}
	if cmd.Flags().Changed("metrics") {
		if err := fl.server.CheckAddress("metrics", fl.metrics); err != nil {
			return s, err
		}
	}
	if s.Upstream, err = parseUpstream(fl.upstream); err != nil {
		return s, err
	}
	if fl.captures == "" {
		return s, errors.New("--captures is empty; name a directory for the captures")
	}
	if err := checkOutput("--captures", fl.captures); err != nil {
		return s, err
	}
	for _, name := range fl.hosts {
		if !hostName().MatchString(name) && net.ParseIP(name) == nil {
			return s, fmt.Errorf("--allow-host %s must be the name or the address of a host, without a port", finding.Quote(name))
		}
	}
	if s.Labels, err = parseLabels(fl.labels); err != nil {
		return s, err
	}
	if _, ok := s.Labels[capture.RecoveredFrom]; ok {
		return s, fmt.Errorf("--label %s: p20export itself sets this label; choose another key", capture.RecoveredFrom)
	}
	switch fl.onStoreFailure {
	case onFailurePass:
	case onFailureFail:
		s.FailOnStore = true
	default:
		return s, fmt.Errorf("--on-store-failure %s: must be %s or %s", finding.Quote(fl.onStoreFailure), onFailurePass, onFailureFail)
	}
	if s.Sync, err = parseSync(fl.sync); err != nil {
		return s, err
	}
	switch {
	case fl.drain < 0:
		return s, errors.New("--drain cannot be negative; 0s cuts open exchanges off at once")
	case fl.timeout < 0:
		return s, errors.New("--timeout cannot be negative; without it there is no limit")
	case (fl.certificate == "") != (fl.key == ""):
		return s, errors.New("give both --tls-cert and --tls-key, or neither")
	}
	return s, nil
}

// parseUpstream parses the value of --upstream.
func parseUpstream(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || !isEndpoint(s) || u.Hostname() == "" || !isPort(u.Port()):
		return nil, fmt.Errorf("--upstream %s must be the URL of the agent, such as http://127.0.0.1:8011/", finding.Quote(s))
	case u.User != nil:
		return nil, errors.New("--upstream cannot have a user or a password; the front end sends the credentials, and they are passed through")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("--upstream %s cannot have a query or a fragment; give only the scheme, the host and the path", finding.Quote(s))
	}
	return u, nil
}

// isPort reports whether s, which consists of digits, is empty or the number of a port to
// connect to.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// parseSync parses the value of --sync.
func parseSync(s string) (proxy.SyncPolicy, error) {
	text, isInterval := strings.CutPrefix(s, syncInterval)
	interval, err := time.ParseDuration(text)
	switch {
	case s == syncEnd:
		return proxy.SyncAtEnd, nil
	case s == syncEach:
		return proxy.SyncEach, nil
	case isInterval && err == nil && interval > 0:
		return proxy.SyncPolicy(interval), nil
	}
	return 0, fmt.Errorf("--sync %s: must be end, each, or interval= with a duration such as interval=50ms", finding.Quote(s))
}

// freezing returns the settings of --freeze, or nil if it is not given.
func (fl *proxyFlags) freezing(cmd *cobra.Command) (*freeze.Settings, error) {
	if !cmd.Flags().Changed("freeze") {
		for _, name := range []string{"projection", "snapshot", "profile"} {
			if cmd.Flags().Changed(name) {
				return nil, fmt.Errorf("--%s needs --freeze OUT, which freezes the captures", name)
			}
		}
		return nil, nil
	}
	if fl.out == "" {
		return nil, errors.New("--freeze is empty; name a directory for the frozen files")
	}
	if err := checkOutput("--freeze", fl.out); err != nil {
		return nil, err
	}
	if info, err := os.Stat(fl.out); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--freeze %s is not a directory; name a directory for the frozen files", finding.Quote(fl.out))
	}
	if fl.isInCaptures(fl.out) {
		return nil, fmt.Errorf("--freeze %s is in --captures %s; name a directory outside it, because everything in --captures is checked as a capture", finding.Quote(fl.out), finding.Quote(fl.captures))
	}
	settings, err := fl.projection.settings()
	if err != nil {
		return nil, err
	}
	s := &freeze.Settings{Settings: settings, Dir: fl.out, Tool: build.Tool()}
	return s, s.Normalize()
}

// openLog opens the log that --store names, or returns nil without the flag. The environment
// names no log: a variable that is set for other commands must not make a proxy keep more.
func (fl *proxyFlags) openLog(cmd *cobra.Command) (store.Log, error) {
	if !cmd.Flags().Changed("store") {
		if fl.store.tenant != "" || fl.store.passwordFile != "" {
			return nil, errors.New("--tenant and --password-file need --store URL, which names the log")
		}
		return nil, nil
	}
	if fl.store.url == "" {
		return nil, errors.New("--store is empty; name the log with sqlite:FILE or postgres://USER@HOST/DATABASE")
	}
	ctx := cmd.Context()
	address, err := fl.store.parse(ctx)
	if err != nil {
		return nil, err
	}
	file, isFile := strings.CutPrefix(address.String(), "sqlite:")
	if isFile && fl.isInCaptures(file) {
		return nil, fmt.Errorf("--store %s is in --captures %s; name a file outside it, because everything in --captures is checked as a capture", finding.Quote(address.String()), finding.Quote(fl.captures))
	}
	log, err := fl.store.open(ctx, logs.Create)
	if err != nil || !isFile {
		return log, err
	}
	return watchFile(log, file)
}

// isInCaptures reports whether a path is in the directory of --captures, or is that
// directory. Either may not exist.
func (fl *proxyFlags) isInCaptures(path string) bool {
	store, err1 := filepath.Abs(fl.captures)
	at, err2 := filepath.Abs(path)
	if err1 != nil || err2 != nil {
		return false
	}
	for parent := filepath.Dir(at); ; at, parent = parent, filepath.Dir(parent) {
		if at == store || isSame(at, store) {
			return true
		}
		if at == parent {
			return false
		}
	}
}

// loadCertificate loads the files of --tls-cert and --tls-key. It returns nil if they are
// not given.
func (fl *proxyFlags) loadCertificate() (*tls.Certificate, error) {
	if fl.certificate == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(fl.certificate, fl.key)
	if err != nil {
		return nil, fmt.Errorf("%w: --tls-cert %s, --tls-key %s: %w\nnext: give the certificate chain and its private key as PEM files", errServe, finding.Quote(fl.certificate), finding.Quote(fl.key), err)
	}
	return &c, nil
}
