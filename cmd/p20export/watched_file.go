package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// watchedFile is a log in a file. It refuses to append when its path no longer leads to the
// file that was opened: no other program would see what a server appends there.
type watchedFile struct {
	store.Log
	path   string
	opened fs.FileInfo
}

// watchFile returns a log that was opened at path as a watchedFile.
func watchFile(log store.Log, path string) (store.Log, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errStore, err), log.Close())
	}
	return &watchedFile{log, path, info}, nil
}

// Append implements store.Log.
func (f *watchedFile) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	return f.Log.Append(ctx, key, after, entries)
}

// check returns an error if the path does not lead to the file that was opened.
func (f *watchedFile) check() error {
	info, err := os.Stat(f.path)
	if err != nil || !os.SameFile(info, f.opened) {
		return fmt.Errorf("%s is not the file that was opened: put that file back, or restart p20export", finding.Escape(f.path))
	}
	return nil
}

// Leases implements store.Leaser.
func (f *watchedFile) Leases(ctx context.Context, lost func(string)) (store.Leases, error) {
	leaser, ok := f.Log.(store.Leaser)
	if !ok {
		return nil, errors.New("the log has no leases")
	}
	return leaser.Leases(ctx, lost)
}
