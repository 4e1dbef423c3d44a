package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/service"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/serve"
)

// viewAddress is the default of --listen of log view: a free port.
const viewAddress = "127.0.0.1:0"

func newLogView() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:   "view [THREAD]",
		Short: "Look at the threads of a log in a browser",
		Long: `Serve the window on the threads of a log, for a browser: what users and agents
said, the runs and their branches, and the messages and the state at any
position. Nothing is written to the log. docs/window.md describes the pages.

The first line on standard error has the address. It is a free port of this
machine, unless --listen gives another. --open opens it in the browser, at a
thread if one is named. Whoever can connect can read all threads of --tenant;
with --allow-remote, that is everybody on the network: p20export serve --ui asks
for tokens. Threads that another process appends to go on while they are shown.
Ctrl-C stops it.
` + serverExitHelp("responses", "the log or the address cannot be used"),
		Example: `  p20export log view --store sqlite:events.db --open
  p20export log view THREAD --store sqlite:events.db --open
  p20export log view --store postgres://agents@db/agents --listen 127.0.0.1:8090`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeThread,
	}
	f := addStoreFlags(cmd)
	server := cli.AddServer(cmd)
	flags := cmd.Flags()
	server.Address = viewAddress
	listen := flags.Lookup("listen")
	listen.DefValue, listen.Usage = viewAddress, "`ADDRESS` to listen on, such as 127.0.0.1:8090"
	flags.BoolVar(&open, "open", false, "open the window in the browser")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := server.CheckAddress("listen", server.Address); err != nil {
			return err
		}
		thread := ""
		if len(args) > 0 {
			thread = args[0]
		}
		return view(cmd, f, server, thread, open)
	}
	return cmd
}

// view serves the window until a signal. The thread may be empty.
func view(cmd *cobra.Command, f *storeFlags, at *cli.Server, thread string, open bool) error {
	threads, err := f.open(cmd.Context(), logs.Existing)
	if err != nil {
		return err
	}
	defer threads.Close()
	if thread != "" {
		if _, err := f.existing(cmd.Context(), threads, thread); err != nil {
			return err
		}
	}
	log, out := monitor.OpenLog(cmd.ErrOrStderr(), at.LogFormat)
	defer out.Close()
	server, err := serve.New(serve.Settings{
		Log: threads, Window: true, Logger: log,
		Exchanges: proxy.Settings{Tool: capture.Tool(build.Tool())}, // the window names it
		Guard:     serve.GuardSettings{Tenant: f.tenant, AllowRemote: at.AllowRemote},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errServe, err)
	}
	defer server.Close()
	ctx, stop := signals.UntilSecond(cmd.Context(), signals.Together)
	defer stop()
	l, err := at.Listen("listen", at.Address)
	if err != nil {
		return err
	}
	defer l.Close()
	address := windowURL("http", l.Addr().String(), thread)
	log.Info("listening", "address", l.Addr().String(), "store", f.address.String(), "window", address)
	if open {
		if err := openBrowser(address); err != nil {
			log.Warn("cannot open the browser: open the address yourself", "window", address, "error", err)
		}
	}
	cut, err := service.Serve(cmd.Context(), proxy.NewServer(server, log), l, nil, func() error {
		if e := server.Drain(ctx); e != nil && !errors.Is(e, context.Canceled) {
			return e
		}
		return nil
	})
	switch signal := interrupted(cmd); {
	case err != nil && signal == nil:
		return fmt.Errorf("%w: %w", errServe, err)
	case cut && err == nil:
		return signal
	}
	return err
}

// windowURL returns the URL of the window. The thread may be empty.
func windowURL(scheme, address, thread string) string {
	u := url.URL{Scheme: scheme, Host: address, Path: "/"}
	if thread != "" {
		u.RawQuery = url.Values{"thread": {thread}}.Encode()
	}
	return u.String()
}

// openBrowser opens a URL in the user's browser.
func openBrowser(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("there is no program %s", finding.Quote(name))
	}
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it may stay until the browser is closed
	return nil
}
