package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
)

// batchFile is the file of --from-list or --from-tar.
type batchFile struct {
	path  string
	r     io.Reader
	close func()
	size  int64 // 0 if it is not known
	read  atomic.Int64
}

// openBatchFile opens the file of --from-list or --from-tar. One of them must be given.
func openBatchFile(cmd *cobra.Command, b *cli.Batch) (*batchFile, error) {
	f, flag := &batchFile{path: b.List}, "from-list"
	if b.List == "" {
		f.path, flag = b.Tar, "from-tar"
	}
	var err error
	f.r, f.close, err = capture.OpenInput(cmd.Context(), f.path)
	if err != nil {
		return nil, batchFileError(flag, f.path, err)
	}
	if info, err := os.Stat(f.path); f.path != "-" && err == nil && info.Mode().IsRegular() {
		f.size = info.Size()
	}
	return f, nil
}

// Read implements io.Reader.
func (f *batchFile) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.read.Add(int64(n))
	return n, err
}

// progress returns how many bytes of the file were read, and its size or 0.
func (f *batchFile) progress() (done, total int64) { return f.read.Load(), f.size }

// entries returns the entries of a list, and a function that returns the error that ended
// the list.
func (f *batchFile) entries() (iter.Seq[inputs.Entry], func() error) {
	var failed error
	return func(yield func(inputs.Entry) bool) {
			for e, err := range inputs.Entries(f) {
				if err != nil {
					failed = fmt.Errorf("%w: %s: %w", errInput, finding.Escape(f.path), err)
				}
				if err != nil || !yield(e) {
					return
				}
			}
		}, func() error {
			return failed
		}
}

// entriesOf returns the entries of a list with the given paths.
func entriesOf(paths []string) iter.Seq[inputs.Entry] {
	return func(yield func(inputs.Entry) bool) {
		for _, path := range paths {
			if !yield(inputs.Entry{Path: path}) {
				return
			}
		}
	}
}
