package atomicfile

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
)

// WriteNew writes the file at path completely or not at all, and makes it durable. The
// function write writes its content. If a file with the name exists and has the same bytes,
// it is used; otherwise the error matches fs.ErrExist. WriteNew returns the names of
// temporary files that could not be removed.
func WriteNew(ctx context.Context, path string, write func(io.Writer) error) (leftover []string, err error) {
	dir, name := filepath.Split(path) // filepath.Dir resolves link/../name differently from the system
	d, err := OpenDirectory(cmp.Or(dir, "."))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	staged, err := d.Create(write)
	if err != nil {
		return nil, err
	}
	defer staged.Discard()
	file := Named{Staged: staged, Name: name, Same: Equal}
	if err := d.Publish(ctx, file); err != nil {
		return nil, err
	}
	return LeftoverNames(file), d.Sync()
}
