package transfer

import (
	"context"
	"errors"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/store/seal"
)

// ThreadFile is an open file with a thread in the portable form.
type ThreadFile struct {
	// Thread is the id of the thread.
	Thread string

	src  *source
	file *contents
}

// ErrNotThread means that a file is not a thread in the portable form.
var ErrNotThread = errors.New("it is not an exported thread")

// OpenThread opens a file that Export has written, compressed or not, reads it once, and checks
// its digest and the form of each line. The path - is standard input. The error is ErrNotThread,
// a finding, such as log_file_malformed, or that of reading the file. The file keeps its seals in
// memory, but not its entries.
func OpenThread(ctx context.Context, path string) (*ThreadFile, error) {
	src, err := openSource(ctx, inputs.File(path))
	if err != nil {
		return nil, err
	}
	file, err := src.readPortable(ctx)
	if err == nil && file == nil {
		err = ErrNotThread
	}
	if err != nil {
		src.close()
		return nil, err
	}
	return &ThreadFile{Thread: file.Thread, src: src, file: file}, nil
}

// Known returns the seals and the entries of the file, with which the thread in a log can be
// compared. The entries are read again each time they are ranged over, until ctx is done or the
// file is closed. Their last pair is the finding digest_mismatch if the file has changed since
// it was opened.
func (t *ThreadFile) Known(ctx context.Context) seal.Known {
	return seal.Known{From: t.src.in.Path, Seals: t.file.seals, Entries: t.src.entries(ctx, t.file)}
}

// Close closes the file.
func (t *ThreadFile) Close() { t.src.close() }
