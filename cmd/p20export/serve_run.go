package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/service"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// run checks the flags, serves until a signal, and drains.
func (fl *serveFlags) run(cmd *cobra.Command) error {
	settings, err := fl.settings(cmd)
	if err != nil {
		return err
	}
	sealing, endSealing, err := fl.seal.openServer(cmd)
	if err != nil {
		return err
	}
	defer endSealing()
	certificate, err := fl.service.LoadCertificate()
	if err != nil {
		return fmt.Errorf("%w: %w", errServe, err)
	}
	threads, err := fl.openLog(cmd.Context())
	if err != nil {
		return err
	}
	defer threads.Close()
	settings.Log = threads
	var captures *service.Store
	if fl.recording {
		if captures, err = fl.captures.open(); err != nil {
			return err
		}
		defer captures.Close()
		settings.Exchanges.Captures = captures.Root
		settings.Report = func(ctx context.Context, path string, w io.Writer) error {
			return report.Render(ctx, w, path, report.Settings{Tool: build.Tool()})
		}
	}
	log, out := monitor.OpenLog(cmd.ErrOrStderr(), fl.service.LogFormat)
	defer out.Close()
	var server *serve.Server
	m := monitor.NewServe(func() error {
		if log, ok := threads.(interface{ Check() error }); ok {
			if err := log.Check(); err != nil {
				return err
			}
		}
		return server.Check(cmd.Context())
	}, func() serve.Stats { return server.Stats() }, log, out.Dropped)
	settings.Logger, settings.Observer = log, m
	settings.Exchanges.Log, settings.Exchanges.Observer = log, m.Exchanges
	about := []any{"store", fl.store.address.String(), "agents", slices.Sorted(maps.Keys(settings.Agents))}
	var sealer *service.Sealer
	if sealing != nil {
		sealer = service.NewSealer(service.SealerSettings{Seal: sealing, Events: threads, Tenant: fl.onlyTenant(), Log: log, Observer: m})
		m.SetUnsealed(sealer.Behind)
		settings.Log = sealer.Watch(threads)
		about = append(about, "origin", sealing.Name)
	}
	keeper := service.NewKeeper(threads, log)
	settings.Restore.Behind = keeper.Add
	if server, err = serve.New(settings); errors.Is(err, serve.ErrTokens) {
		return fmt.Errorf("%w: --token-file: %w\nnext: give a file with lines TENANT sha256:HEX [append] that only its owner can change", errServe, err)
	} else if err != nil {
		return fmt.Errorf("%w: %w", errServe, err)
	}
	defer server.Close()
	if fl.recording {
		about = append(about, "captures", fl.captures.dir)
	}
	d := daemon{
		flags: fl.service, log: log, monitor: m.Monitor, certificate: certificate,
		handler: server, checkHost: server.CheckHost, about: about, window: settings.Window,
		prepare: func(ctx context.Context) error {
			if captures != nil {
				captures.Share(log)
				service.Recover(ctx, captures, settings.Exchanges.Tool, log)
			}
			return fl.started(server.Start(ctx))
		},
		check: func(at net.Addr) error {
			warnOfLimit(log, "max-readers", filesOfReader, fl.readers, fl.runs*filesOfRun)
			for _, agent := range settings.Agents {
				if err := checkLoop(agent.String(), at); err != nil {
					return err
				}
			}
			return nil
		},
		start: func() {
			keeper.Start()
			if sealer != nil {
				sealer.Start()
			}
		},
		drain: func(ctx context.Context) (cut []any, err error) {
			if e, ok := errors.AsType[*serve.DrainError](server.Drain(ctx)); ok {
				cut = []any{"cut_off", e.Ended}
			}
			keeper.Close()
			if sealer != nil {
				sealer.Finish(ctx)
			}
			return cut, nil
		},
	}
	return d.run(cmd.Context())
}

// A reader is a connection. A run has one to its agent, and four files of its capture.
const (
	filesOfReader = 1
	filesOfRun    = 5
)

// onlyTenant returns the tenant of all requests, or nil if they name their tenants.
func (fl *serveFlags) onlyTenant() *string {
	if fl.tokens != "" || fl.proxies != nil {
		return nil
	}
	return &fl.store.tenant
}

// openLog opens the log. It is created only if something is written: a reader of a log that
// does not exist is more likely a mistake.
func (fl *serveFlags) openLog(ctx context.Context) (store.Log, error) {
	mode := logs.Existing
	if fl.writes() {
		mode = logs.Create
	}
	return fl.captures.openLog(ctx, fl.store, mode)
}

// started returns the error for a server that could not begin to run agents.
func (fl *serveFlags) started(err error) error {
	switch {
	case errors.Is(err, store.ErrLeased):
		return fmt.Errorf("%w: %s: %w\nnext: stop the other server, or use a PostgreSQL log, which several servers can share; without --upstream and --allow-append, any number of servers can read a SQLite log", errServe, fl.store.address, err)
	case err != nil:
		return fl.store.failed(err)
	}
	return nil
}
