package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/sqlite"
)

// Names of the logs.
const (
	memoryLog = "memory"
	sqliteLog = "sqlite"
)

func logNames() []string { return []string{memoryLog, sqliteLog} }

// A log is a new log that is removed when it is closed.
type log struct {
	store.Log
	name string
	// address is what other processes open, or "" if they cannot.
	address string
	remove  func() error
}

// open opens a new, empty log.
func (s *settings) open(ctx context.Context, name string) (*log, error) {
	if name == memoryLog {
		return &log{Log: memory.New(), name: name, remove: func() error { return nil }}, nil
	}
	dir, err := os.MkdirTemp(s.dir, "sqlite-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	file := filepath.Join(dir, "log.db")
	l, err := sqlite.Open(ctx, file, true)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return &log{Log: l, name: name, address: file, remove: remove}, nil
}

// openAll opens a new log of each kind that is measured.
func (s *settings) openAll(ctx context.Context) ([]*log, error) {
	var logs []*log
	for _, name := range s.logs {
		l, err := s.open(ctx, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), closeAll(logs))
		}
		logs = append(logs, l)
	}
	return logs, nil
}

func (l *log) close() error { return errors.Join(l.Close(), l.remove()) }

func closeAll(logs []*log) (err error) {
	for _, l := range logs {
		err = errors.Join(err, l.close())
	}
	return err
}
