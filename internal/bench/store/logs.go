package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/postgres"
	"github.com/p20export/p20export/store/sqlite"
)

// Names of the logs.
const (
	memoryLog   = "memory"
	sqliteLog   = "sqlite"
	postgresLog = "postgres"
)

func logNames() []string { return []string{memoryLog, sqliteLog, postgresLog} }

// measures reports whether a log is measured.
func (s *settings) measures(name string) bool { return slices.Contains(s.logs, name) }

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
	switch name {
	case memoryLog:
		return &log{Log: memory.New(), name: name, remove: func() error { return nil }}, nil
	case sqliteLog:
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
	default:
		address, remove, err := s.createDatabase(ctx)
		if err != nil {
			return nil, err
		}
		l, err := postgres.Open(ctx, address, true)
		if err != nil {
			return nil, errors.Join(err, remove())
		}
		return &log{Log: l, name: name, address: address, remove: remove}, nil
	}
}

// createDatabase creates a database of the server and returns its URL.
func (s *settings) createDatabase(ctx context.Context) (address string, remove func() error, err error) {
	u, err := url.Parse(s.postgres)
	if err != nil {
		return "", nil, err
	}
	name := "bench_" + strings.ToLower(random())
	if err := s.execute(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	return u.String(), func() error {
		return s.execute(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
	}, nil
}

// execute runs a statement in the server.
func (s *settings) execute(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, s.postgres)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(ctx))
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
