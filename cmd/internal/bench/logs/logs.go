// Package logs opens the logs that benchmarks measure, and describes the machine.
package logs

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/postgres"
	"github.com/p20export/p20export/store/sqlite"
)

// Names of the logs.
const (
	Memory   = "memory"
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Names returns the names of all logs.
func Names() []string { return []string{Memory, SQLite, Postgres} }

// A Place is where logs are created.
type Place struct {
	// Dir is the directory of SQLite databases.
	Dir string
	// Server is the URL of a PostgreSQL server in which databases may be created.
	Server string
}

// A Log is a new log that is removed when it is closed.
type Log struct {
	store.Log
	Name string
	// Address is what other processes open, or "" if they cannot.
	Address string
	remove  func() error
}

// Open opens a new, empty log.
func (p Place) Open(ctx context.Context, name string) (*Log, error) {
	switch name {
	case Memory:
		return &Log{Log: memory.New(), Name: name, remove: func() error { return nil }}, nil
	case SQLite:
		dir, err := os.MkdirTemp(p.Dir, "sqlite-")
		if err != nil {
			return nil, err
		}
		remove := func() error { return os.RemoveAll(dir) }
		file := filepath.Join(dir, "log.db")
		l, err := sqlite.Open(ctx, file, true)
		if err != nil {
			return nil, errors.Join(err, remove())
		}
		return &Log{Log: l, Name: name, Address: file, remove: remove}, nil
	default:
		address, remove, err := p.createDatabase(ctx)
		if err != nil {
			return nil, err
		}
		l, err := postgres.Open(ctx, address, true)
		if err != nil {
			return nil, errors.Join(err, remove())
		}
		return &Log{Log: l, Name: name, Address: address, remove: remove}, nil
	}
}

// OpenAddress opens the log with a name and an address that another process opened.
func OpenAddress(ctx context.Context, name, address string) (store.Log, error) {
	if name == SQLite {
		return sqlite.Open(ctx, address, false)
	}
	return postgres.Open(ctx, address, false)
}

// createDatabase creates a database of the server and returns its URL.
func (p Place) createDatabase(ctx context.Context) (address string, remove func() error, err error) {
	u, err := url.Parse(p.Server)
	if err != nil {
		return "", nil, err
	}
	name := "bench_" + strings.ToLower(rand.Text())
	if err := p.execute(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	return u.String(), func() error {
		return p.execute(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
	}, nil
}

// execute runs a statement in the server.
func (p Place) execute(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, p.Server)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(ctx))
}

// CloseAndRemove closes the log and removes it.
func (l *Log) CloseAndRemove() error { return errors.Join(l.Close(), l.remove()) }
