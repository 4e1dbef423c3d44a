package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/service"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// recordingFlags are the flags --captures and --label of servers that keep captures.
type recordingFlags struct {
	dir    string
	labels []string
}

// add adds the flags to a command. The parameter about is the usage of --captures.
func (fl *recordingFlags) add(cmd *cobra.Command, about string) {
	flags := cmd.Flags()
	flags.StringVar(&fl.dir, "captures", "", about)
	flags.StringArrayVar(&fl.labels, "label", nil, "label `KEY=VALUE` to store in every manifest (repeatable)")
	cli.CompleteBy(cmd, "captures", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	cli.Complete(cmd, "label")
}

// settings checks the flags and returns the labels. The program itself sets the reserved
// labels.
func (fl *recordingFlags) settings(reserved ...string) (map[string]string, error) {
	if fl.dir == "" {
		return nil, errors.New("--captures is empty; name a directory for the captures")
	}
	if err := checkOutput("--captures", fl.dir); err != nil {
		return nil, err
	}
	labels, err := parseLabels(fl.labels)
	if err != nil {
		return nil, err
	}
	for _, key := range reserved {
		if _, ok := labels[key]; ok {
			return nil, fmt.Errorf("--label %s: p20export itself sets this label; choose another key", key)
		}
	}
	return labels, nil
}

// open opens the directory of captures.
func (fl *recordingFlags) open() (*service.Store, error) {
	s, err := service.OpenStore(fl.dir)
	if err != nil {
		return nil, unusable(err)
	}
	return s, nil
}

// unusable returns the error for a directory of captures that cannot be used.
func unusable(err error) error {
	return fmt.Errorf("%w: --captures: %w\nnext: name a directory that p20export may create or write to", errServe, err)
}

// openLog opens the log of a server.
func (fl *recordingFlags) openLog(ctx context.Context, s *storeFlags, mode logs.Mode) (store.Log, error) {
	address, err := s.parse(ctx)
	if err != nil {
		return nil, err
	}
	file, isFile := strings.CutPrefix(address.String(), "sqlite:")
	if isFile && fl.contains(file) {
		return nil, fmt.Errorf("--store %s is in --captures %s; name a file outside it, because everything in --captures is checked as a capture", finding.Quote(address.String()), finding.Quote(fl.dir))
	}
	return s.open(ctx, mode)
}

// contains reports whether a path is in the directory of --captures, or is that directory.
// Either may not exist. Without the flag, nothing is in it.
func (fl *recordingFlags) contains(path string) bool {
	if fl.dir == "" {
		return false
	}
	store, err1 := filepath.Abs(fl.dir)
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
