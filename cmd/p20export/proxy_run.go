package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/service"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
)

// run checks the flags, serves until a signal, and drains.
func (fl *proxyFlags) run(cmd *cobra.Command) error {
	settings, err := fl.settings(cmd)
	if err != nil {
		return err
	}
	freezing, err := fl.freezing(cmd)
	if err != nil {
		return err
	}
	certificate, err := fl.loadCertificate()
	if err != nil {
		return err
	}
	events, err := fl.openLog(cmd)
	if err != nil {
		return err
	}
	store, err := service.OpenStore(fl.captures)
	if err != nil {
		return fmt.Errorf("%w: --captures: %w\nnext: name a directory that p20export may create or write to", errServe, err)
	}
	defer store.Close()
	log, out := monitor.OpenLog(cmd.ErrOrStderr(), fl.server.LogFormat)
	defer out.Close()
	s := &proxyServer{flags: fl, log: log, observer: &proxyObserver{Monitor: monitor.New(store.Probe, log, out.Dropped)}, certificate: certificate}
	if freezing != nil {
		count := func(v project.Verdict) { s.observer.Frozen(string(v)) }
		if s.observer.freezer, err = service.NewFreezer(store, *freezing, log, count); err != nil {
			return err
		}
		if _, err := atomicfile.MakeDir(fl.out); err != nil { // prune reads it before anything is frozen
			return fmt.Errorf("%w: --freeze: %w\nnext: name a directory that p20export may create", errServe, err)
		}
	}
	if events != nil {
		s.observer.logger = service.NewLogger(store, events, fl.store.tenant, log, s.observer)
		s.observer.SetBehind(s.observer.logger.Behind)
		settings.Follow = s.observer.logger.Follow
	}
	settings.Captures, settings.Log, settings.Observer = store.Root, log, s.observer
	if s.proxy, err = proxy.New(settings); err != nil {
		return err
	}
	s.recover = func(ctx context.Context) { service.Recover(ctx, store, settings.Tool, log) }
	return s.run(cmd.Context())
}

// proxyServer is a proxy and what belongs to it.
type proxyServer struct {
	flags       *proxyFlags
	log         *slog.Logger
	observer    *proxyObserver
	certificate *tls.Certificate // nil without TLS
	proxy       *proxy.Proxy
	recover     func(context.Context)
}

// filesOfExchange is the number of files that an exchange has open: two connections, the
// directory, the response, the arrivals and the claim.
const filesOfExchange = 6

// filesOfProgram is the number of files that are open without any exchange, with a margin.
const filesOfProgram = 100

// enoughFor returns the number of exchanges that can be open with a limit of open files.
func enoughFor(limit int64) int64 { return max(0, limit-filesOfProgram) / filesOfExchange }

// run recovers what a crash left, serves until ctx is done, and drains.
func (s *proxyServer) run(ctx context.Context) error {
	now, stop := signals.UntilSecond(ctx, signals.Together)
	defer stop()
	about := []any{"upstream", s.flags.upstream, "captures", s.flags.captures}
	if s.flags.metrics != "" {
		l, err := s.flags.server.Listen("metrics", s.flags.metrics)
		if err != nil {
			return err
		}
		server := proxy.NewServer(s.proxy.CheckHost(s.observer.Handler()), s.log)
		go func() { _ = server.Serve(l) }() // until it is closed
		defer server.Close()
		about = append(about, "metrics", l.Addr().String())
	}
	if s.observer.logger != nil {
		about = append(about, "store", s.flags.store.address.String())
	}
	_ = s.observer.Check() // which writes to the log; the traffic is passed on anyway
	if s.recover(ctx); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l, err := s.flags.server.Listen("listen", s.flags.server.Address)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := checkLoop(s.flags.upstream, l.Addr()); err != nil {
		return err
	}
	if limit := int64(atomicfile.MaxOpen()); enoughFor(limit) < s.flags.exchanges {
		s.log.Warn("the limit of open files is too low for --max-exchanges: raise it with ulimit -n, or lower --max-exchanges", "limit", limit, "enough_for", enoughFor(limit))
	}
	s.observer.Serving() // connections wait from now on
	s.log.Info("listening", append([]any{"address", l.Addr().String()}, about...)...)
	if s.observer.freezer != nil {
		s.observer.freezer.Start()
	}
	if s.observer.logger != nil {
		s.observer.logger.Start()
	}
	err = service.Serve(ctx, proxy.NewServer(s.proxy, s.log), l, s.certificate, func() error { return s.drain(now) })
	if cut, ok := errors.AsType[*proxy.DrainError](err); ok {
		s.log.Warn("stopped before everything had ended", "cut_off", cut.Ended, "not_stored", cut.Unsure)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errServe, err)
	}
	s.log.Info("stopped")
	return nil
}

// drain waits for the open exchanges, up to the time of --drain or until now is done.
func (s *proxyServer) drain(now context.Context) error {
	s.observer.Draining()
	s.log.Info("draining", "limit", s.flags.drain)
	ctx, cancel := context.WithTimeout(now, s.flags.drain)
	defer cancel()
	err := s.proxy.Drain(ctx)
	if s.observer.freezer != nil {
		s.observer.freezer.Finish(ctx)
	}
	if s.observer.logger != nil {
		s.observer.logger.Finish(ctx)
	}
	return err
}

// checkLoop returns an error if the upstream is the address that the proxy listens on.
func checkLoop(upstream string, listening net.Addr) error {
	u, err := url.Parse(upstream)
	at, ok := listening.(*net.TCPAddr)
	if err != nil || !ok || u.Port() != strconv.Itoa(at.Port) {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip := net.ParseIP(name); name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && (ip.Equal(at.IP) || at.IP.IsUnspecified() && ip.IsLoopback()) {
		return fmt.Errorf("--upstream %s is the address of --listen; give the address of the agent", finding.Quote(upstream))
	}
	return nil
}

// proxyObserver passes what happens in a proxy to the monitor, and the captures to the
// freezer and the logger if there are any.
type proxyObserver struct {
	*monitor.Monitor
	freezer *service.Freezer
	logger  *service.Logger
}

// Ended implements proxy.Observer.
func (o *proxyObserver) Ended(e proxy.Exchange) {
	o.Monitor.Ended(e)
	if e.Stored && o.freezer != nil {
		o.freezer.Add(e.Name)
	}
	if e.Digest != "" && o.logger != nil {
		o.logger.Add(e.Name)
	}
}
