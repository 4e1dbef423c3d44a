package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/capture/replay"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/serve"
)

// agentName matches the name of an agent, which is a segment of a path.
var agentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// agents parses the values of --upstream.
func (fl *serveFlags) agents() (map[string]*url.URL, error) {
	agents := make(map[string]*url.URL, len(fl.upstreams))
	for _, value := range fl.upstreams {
		name, address, ok := strings.Cut(value, "=")
		switch _, twice := agents[name]; {
		case !ok || strings.Contains(name, "/"): // the rest may contain a password
			return nil, errors.New("--upstream must be NAME=URL, such as chat=http://127.0.0.1:8011/")
		case !agentName().MatchString(name):
			return nil, fmt.Errorf("--upstream %s: the name must have 1 to 64 letters, digits, dots, hyphens and underscores, and begin with a letter or digit", finding.Quote(name))
		case twice:
			return nil, fmt.Errorf("--upstream %s is given twice; give each agent a name of its own", finding.Quote(name))
		}
		agent, err := parseUpstream(address)
		if err != nil {
			return nil, err
		}
		agents[name] = agent
	}
	return agents, nil
}

// trusted parses the values of --trusted-proxy.
func (fl *serveFlags) trusted() (list []netip.Prefix, err error) {
	for _, value := range fl.proxies {
		prefix, err := netip.ParsePrefix(value)
		if address, err2 := netip.ParseAddr(value); err2 == nil {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %s must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8", finding.Quote(value))
		}
		if prefix != prefix.Masked() {
			return nil, fmt.Errorf("--trusted-proxy %s has bits after the length of its prefix; did you mean %s?", finding.Quote(value), prefix.Masked())
		}
		list = append(list, prefix)
	}
	return list, nil
}

// allowedOrigins parses the values of --allow-origin.
func (fl *serveFlags) allowedOrigins() (list []string, err error) {
	for _, value := range fl.origins {
		if value == replay.AnyOrigin {
			return nil, errors.New("--allow-origin * would let every page in the browser of a visitor use the threads; name each origin")
		}
		origin, err := replay.ParseOrigin(value)
		if err != nil {
			return nil, fmt.Errorf("--allow-origin %s: %w", finding.QuoteURL(value), err)
		}
		list = append(list, origin)
	}
	return list, nil
}

// check checks the flags that are not checked elsewhere.
func (fl *serveFlags) check(cmd *cobra.Command) error {
	if err := fl.service.Check(cmd); err != nil {
		return err
	}
	changed := cmd.Flags().Changed
	switch {
	case fl.policy != policyReplace && fl.policy != policyRefuse && fl.policy != policyQueue:
		return fmt.Errorf("--thread-policy %s: must be %s, %s or %s", finding.Quote(fl.policy), policyReplace, policyRefuse, policyQueue)
	case changed("max-queued") && fl.policy != policyQueue:
		return errors.New("--max-queued needs --thread-policy queue; otherwise no request waits")
	case fl.runTime < 0:
		return errors.New("--run-timeout cannot be negative; without it there is no limit")
	case changed("append-timeout") && !fl.allowAppend:
		return errors.New("--append-timeout needs --allow-append, which lets clients append events")
	case fl.appendTime <= 0:
		return errors.New("--append-timeout must be positive, such as 30s")
	case fl.readerTime <= 0:
		return errors.New("--reader-timeout must be positive, such as 30s")
	case fl.ticketTime <= 0:
		return errors.New("--ticket-ttl must be positive, such as 5m")
	case changed("ticket-key-file") && fl.ticketKey == "":
		return errors.New("--ticket-key-file is empty; name the file with the key")
	case changed("token-file") && fl.tokens == "":
		return errors.New("--token-file is empty; name the file with the tokens")
	case fl.tokens != "" && fl.store.tenant != "":
		return errors.New("give either --tenant or --token-file: the file names the tenant of each token")
	case fl.proxies != nil && fl.store.tenant != "":
		return errors.New("give either --tenant or --trusted-proxy: the proxy names the tenant of each request")
	}
	for _, name := range []string{"captures", "run-timeout", "thread-policy", "pass-cookies", "event-bytes"} {
		if len(fl.upstreams) == 0 && changed(name) {
			return fmt.Errorf("--%s needs --upstream NAME=URL, which names an agent to run", name)
		}
	}
	for _, name := range []string{"max-runs", "max-tenant-runs", "max-threads"} {
		if !fl.writes() && changed(name) {
			return fmt.Errorf("--%s needs --upstream NAME=URL, which names an agent to run, or --allow-append", name)
		}
	}
	if !changed("captures") && changed("label") {
		return errors.New("--label needs --captures DIR, which keeps captures")
	}
	return fl.checkSeal(cmd)
}

// writes reports whether the server does more than read.
func (fl *serveFlags) writes() bool { return len(fl.upstreams) > 0 || fl.allowAppend }

// settings returns the settings that the flags describe, without what has to be opened.
func (fl *serveFlags) settings(cmd *cobra.Command) (s serve.Settings, err error) {
	if err := fl.check(cmd); err != nil {
		return s, err
	}
	if !cmd.Flags().Changed("ui") {
		fl.ui = !fl.service.AllowRemote
	}
	s = serve.Settings{
		Window: fl.ui, AllowAppend: fl.allowAppend, AppendTimeout: fl.appendTime,
		Policy:        serve.Policy(fl.policy),
		PassCookies:   fl.cookies,
		Limits:        serve.Limits{Runs: count(fl.runs), TenantRuns: count(fl.tenantRuns), Queued: count(fl.queued), Threads: fl.threads},
		ReaderTimeout: fl.readerTime, ReaderBytes: fl.readerBytes,
		Exchanges: proxy.Settings{Tool: capture.Tool(build.Tool()), Timeout: fl.runTime, MaxExchanges: count(fl.runs), EventBytes: fl.eventBytes},
		Guard: serve.GuardSettings{
			TokenFile: fl.tokens, Tenant: fl.store.tenant, TicketTTL: fl.ticketTime,
			AllowedHosts: fl.service.Hosts, AllowRemote: fl.service.AllowRemote,
			MaxRequestBytes: fl.service.MaxRequestBytes, MaxReaders: count(fl.readers), MaxTenantReaders: count(fl.tenantReaders),
		},
	}
	if fl.ticketKey != "" {
		if s.Guard.TicketKey, err = readTicketKey(fl.ticketKey); err != nil {
			return s, err
		}
	}
	if s.Agents, err = fl.agents(); err != nil {
		return s, err
	}
	if s.Guard.TrustedProxies, err = fl.trusted(); err != nil {
		return s, err
	}
	if s.Guard.AllowedOrigins, err = fl.allowedOrigins(); err != nil {
		return s, err
	}
	if fl.recording = cmd.Flags().Changed("captures"); fl.recording {
		s.Exchanges.Labels, err = fl.captures.settings(capture.RecoveredFrom, capture.StreamLabel, capture.ThreadLabel, capture.TenantLabel)
	}
	return s, err
}

// checkSeal checks the flags about seals.
func (fl *serveFlags) checkSeal(cmd *cobra.Command) error {
	if fl.seal.given() && !fl.writes() {
		return fmt.Errorf("--%s needs --upstream NAME=URL or --allow-append: a server that only reads ends no run; p20export log seal seals the threads of others", fl.seal.keyFlag)
	}
	return cmp.Or(fl.seal.check(cmd), fl.seal.checkSeal(cmd))
}

// maxTicketKey limits the bytes of a file with a key.
const maxTicketKey = 4096

// readTicketKey reads the file of --ticket-key-file, as it is. Errors do not quote it.
func readTicketKey(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--ticket-key-file: %w", err)
	}
	defer file.Close()
	key, err := io.ReadAll(io.LimitReader(file, maxTicketKey+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--ticket-key-file cannot be read: %w", err)
	case len(key) < serve.MinTicketKey || len(key) > maxTicketKey:
		return nil, fmt.Errorf("--ticket-key-file must have %d to %d bytes, such as those of: openssl rand -hex 32", serve.MinTicketKey, maxTicketKey)
	}
	return key, nil
}

// count returns the value of a flag as an int.
func count(n int64) int { return int(min(n, 1<<30)) }
