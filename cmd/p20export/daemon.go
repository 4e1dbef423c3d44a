package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/service"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/internal/atomicfile"
)

// daemon is a server that runs until a signal and then waits for open work. It is what the
// commands with the flags of cli.Service have in common.
type daemon struct {
	flags       *cli.Service
	log         *slog.Logger
	monitor     *monitor.Monitor
	certificate *tls.Certificate // nil without TLS
	handler     http.Handler
	// checkHost guards the handler of --metrics.
	checkHost func(http.Handler) http.Handler
	// about are attributes of the line "listening".
	about []any
	// window reports that the handler serves the window.
	window bool
	// prepare does what has to be done before the daemon listens, until ctx is done.
	prepare func(ctx context.Context) error
	// check checks the address that the daemon listens on.
	check func(at net.Addr) error
	// start starts work in the background when the daemon listens.
	start func()
	// drain waits for open work until ctx is done, and ends the rest. It returns attributes
	// of what it ended, or nil.
	drain func(ctx context.Context) (cut []any, err error)
}

// run serves until ctx is done, and drains.
func (d *daemon) run(ctx context.Context) error {
	now, stop := signals.UntilSecond(ctx, signals.Together)
	defer stop()
	about := d.about
	if d.flags.Metrics != "" {
		l, err := d.flags.Listen("metrics", d.flags.Metrics)
		if err != nil {
			return err
		}
		server := proxy.NewServer(d.checkHost(d.monitor.Handler()), d.log)
		go func() { _ = server.Serve(l) }() // until it is closed
		defer server.Close()
		about = append(about, "metrics", l.Addr().String())
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l, err := d.flags.Listen("listen", d.flags.Address)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := d.check(l.Addr()); err != nil {
		return err
	}
	if d.window {
		scheme := "http"
		if d.certificate != nil {
			scheme = "https"
		}
		about = append(about, "window", windowURL(scheme, l.Addr().String(), ""))
	}
	d.monitor.Serving() // connections wait from now on
	d.log.Info("listening", append([]any{"address", l.Addr().String()}, about...)...)
	d.start()
	var cut []any
	_, err = service.Serve(ctx, proxy.NewServer(d.handler, d.log), l, d.certificate, func() (err error) {
		d.monitor.Draining()
		d.log.Info("draining", "limit", d.flags.Drain)
		soon, cancel := context.WithTimeout(now, d.flags.Drain)
		defer cancel()
		cut, err = d.drain(soon)
		return err
	})
	if cut != nil {
		d.log.Warn("stopped before everything had ended", cut...)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errServe, err)
	}
	d.log.Info("stopped")
	return nil
}

// filesOfProgram is the number of files that a server has open without requests, with a
// margin.
const filesOfProgram = 100

// enoughFor returns how many can be open of what needs a number of files, with a limit of
// open files.
func enoughFor(limit, files int64) int64 { return max(0, limit-filesOfProgram) / files }

// warnOfLimit warns if the limit of open files is too low for the value of a flag. Each of
// what the flag counts needs a number of files. Others are reserved for idle connections and
// for something else.
func warnOfLimit(log *slog.Logger, flag string, files, most, reserved int64) {
	limit := int64(atomicfile.MaxOpen())
	if enough := enoughFor(limit-reserved-int64(proxy.MaxIdle()), files); enough < most {
		log.Warn("the limit of open files is too low for --"+flag+": raise it with ulimit -n, or lower --"+flag, "limit", limit, "enough_for", enough)
	}
}
