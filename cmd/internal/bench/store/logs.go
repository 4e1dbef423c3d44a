package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
)

// measures reports whether a log is measured.
func (s *settings) measures(name string) bool { return slices.Contains(s.logs, name) }

// A log is a new log that is removed after the measurement.
type log struct{ *logs.Log }

// open opens a new, empty log.
func (s *settings) open(ctx context.Context, name string) (*log, error) {
	l, err := s.place().Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &log{l}, nil
}

func (s *settings) place() logs.Place { return logs.Place{Dir: s.dir, Server: s.postgres} }

// machine describes the machine.
func machine(ctx context.Context, s *settings) (string, error) {
	return s.place().Machine(ctx, s.load, s.logs)
}

// openAll opens a new log of each kind that is measured.
func (s *settings) openAll(ctx context.Context) ([]*log, error) {
	var all []*log
	for _, name := range s.logs {
		l, err := s.open(ctx, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), closeAll(all))
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll(all []*log) (err error) {
	for _, l := range all {
		err = errors.Join(err, l.CloseAndRemove())
	}
	return err
}
