package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/store"
)

// settings returns the settings that the flags describe, without what has to be opened.
func (fl *proxyFlags) settings(cmd *cobra.Command) (s proxy.Settings, err error) {
	s = proxy.Settings{
		Tool: capture.Tool(build.Tool()), MaxBytes: fl.maxBytes, QueueBytes: fl.queueBytes, MaxRequestBytes: fl.service.MaxRequestBytes,
		MaxExchanges: count(fl.exchanges), Timeout: fl.timeout, AllowedHosts: fl.service.Hosts, AllowRemote: fl.service.AllowRemote,
	}
	if err := fl.service.Check(cmd); err != nil {
		return s, err
	}
	if s.Upstream, err = parseUpstream(fl.upstream); err != nil {
		return s, err
	}
	if s.Labels, err = fl.captures.settings(capture.RecoveredFrom, capture.StreamLabel, capture.ThreadLabel); err != nil {
		return s, err
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
	if fl.timeout < 0 {
		return s, errors.New("--timeout cannot be negative; without it there is no limit")
	}
	return s, nil
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
		for _, name := range []string{"projection", "snapshot", "profile", "sign", "signer"} {
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
	if fl.captures.contains(fl.out) {
		return nil, fmt.Errorf("--freeze %s is in --captures %s; name a directory outside it, because everything in --captures is checked as a capture", finding.Quote(fl.out), finding.Quote(fl.captures.dir))
	}
	settings, err := fl.projection.settings()
	if err != nil {
		return nil, err
	}
	s := &freeze.Settings{Settings: settings, Dir: fl.out, Tool: build.Tool()}
	return s, s.Normalize()
}

// checkKeys checks the flags of --sign and --seal.
func (fl *proxyFlags) checkKeys(cmd *cobra.Command) error {
	if cmd.Flags().Changed("seal") && !cmd.Flags().Changed("store") {
		return errors.New("--seal needs --store URL, which names the log whose threads are sealed")
	}
	return cmp.Or(fl.keys.keyFlags.check(cmd, &fl.keys, &fl.seal.signFlags), fl.seal.checkSeal(cmd))
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
	return fl.captures.openLog(cmd.Context(), fl.store, logs.Create)
}
