package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/service"
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
	if err := fl.checkKeys(cmd); err != nil {
		return err
	}
	if freezing != nil && fl.keys.given() {
		// The last captures are frozen after the signal that ends the proxy.
		keys, end, err := fl.keys.open(context.WithoutCancel(cmd.Context()), cmd)
		if err != nil {
			return err
		}
		defer end()
		freezing.Sign = keys
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
	events, err := fl.openLog(cmd)
	if err != nil {
		return err
	}
	store, err := fl.captures.open()
	if err != nil {
		return err
	}
	defer store.Close()
	log, out := monitor.OpenLog(cmd.ErrOrStderr(), fl.service.LogFormat)
	defer out.Close()
	o := &proxyObserver{Proxy: monitor.NewProxy(store.Probe, log, out.Dropped)}
	if freezing != nil {
		count := func(v project.Verdict) { o.Frozen(string(v)) }
		if o.freezer, err = service.NewFreezer(store, *freezing, log, count); err != nil {
			return err
		}
		if _, err := atomicfile.MakeDir(fl.out); err != nil { // prune reads it before anything is frozen
			return fmt.Errorf("%w: --freeze: %w\nnext: name a directory that p20export may create", errServe, err)
		}
	}
	about := []any{"upstream", fl.upstream, "captures", fl.captures.dir}
	if events != nil {
		if sealing != nil {
			o.sealer = service.NewSealer(service.SealerSettings{Seal: sealing, Events: events, Tenant: &fl.store.tenant, Log: log, Observer: o})
			o.SetUnsealed(o.sealer.Behind)
			events = o.sealer.Watch(events)
			about = append(about, "origin", sealing.Name)
		}
		o.logger = service.NewLogger(store, events, fl.store.tenant, log, o)
		if o.sealer != nil {
			o.logger.SealWith(o.sealer)
		}
		o.SetBehind(o.logger.Behind)
		settings.Follow = o.logger.Follow
		about = append(about, "store", fl.store.address.String())
	}
	settings.Captures, settings.Log, settings.Observer = store.Root, log, o
	p, err := proxy.New(settings)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return unusable(err)
	} else if err != nil {
		return err
	}
	d := daemon{
		flags: fl.service, log: log, monitor: o.Monitor, certificate: certificate,
		handler: p, checkHost: p.CheckHost, about: about,
		prepare: func(ctx context.Context) error {
			store.Share(log)
			_ = o.Check() // which writes to the log; the traffic is passed on anyway
			service.Recover(ctx, store, settings.Tool, log)
			return nil
		},
		check: func(at net.Addr) error {
			warnOfLimit(log, "max-exchanges", filesOfExchange, fl.exchanges, 0)
			return checkLoop(fl.upstream, at)
		},
		start: o.start,
		drain: func(ctx context.Context) (cut []any, err error) {
			if e, ok := errors.AsType[*proxy.DrainError](p.Drain(ctx)); ok {
				cut = []any{"cut_off", e.Ended, "not_stored", e.Unsure}
			}
			o.finish(ctx)
			return cut, nil
		},
	}
	return d.run(cmd.Context())
}

// filesOfExchange is the number of files that an exchange has open: two connections, the
// directory, the response, the arrivals and the claim.
const filesOfExchange = 6

// proxyObserver passes what happens in a proxy to the monitor, and the captures to the
// freezer and the logger if there are any.
type proxyObserver struct {
	*monitor.Proxy
	freezer *service.Freezer
	logger  *service.Logger
	sealer  *service.Sealer
}

// Ended implements proxy.Observer.
func (o *proxyObserver) Ended(e proxy.Exchange) {
	o.Proxy.Ended(e)
	if e.Stored && o.freezer != nil {
		o.freezer.Add(e.Name)
	}
	if e.Digest != "" && o.logger != nil {
		o.logger.Add(e.Name)
	}
}

// start starts the freezer, the logger and the sealer.
func (o *proxyObserver) start() {
	if o.freezer != nil {
		o.freezer.Start()
	}
	if o.logger != nil {
		o.logger.Start()
	}
	if o.sealer != nil {
		o.sealer.Start()
	}
}

// finish waits for the freezer, the logger and its sealer until ctx is done, and stops them.
func (o *proxyObserver) finish(ctx context.Context) {
	if o.freezer != nil {
		o.freezer.Finish(ctx)
	}
	if o.logger != nil {
		o.logger.Finish(ctx)
	}
}
