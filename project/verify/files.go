package verify

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project/internal/tarfs"
	"github.com/p20export/p20export/project/record"
)

// files opens the files of a tree by their paths. Its errors contain these paths.
type files interface {
	// read reads a regular file of at most limit bytes, like record.ReadBounded.
	read(path string, limit int) ([]byte, error)
	// open opens a capture, like capture.Open.
	open(ctx context.Context, path string) (*capture.Capture, error)
	// check compares the files of a capture with its manifest, like capture.Check.
	check(ctx context.Context, path string) ([]finding.Finding, error)
	// inUse reports whether a capture is being written, like capture.InUse.
	inUse(path string) (bool, error)
	// exists reports whether there is something with the path now.
	exists(path string) bool
	// locked reports whether a program has locked a temporary file.
	locked(path string) bool
	// digest returns the digest of a regular file's bytes.
	digest(ctx context.Context, path string) (digest.Digest, error)
}

// disk opens the files of the file system.
type disk struct{}

func (disk) read(path string, limit int) ([]byte, error) { return record.ReadBounded(path, limit) }

func (disk) open(ctx context.Context, path string) (*capture.Capture, error) {
	return capture.Open(ctx, path, "")
}

func (disk) check(ctx context.Context, path string) ([]finding.Finding, error) {
	return capture.Check(ctx, path)
}

func (disk) inUse(path string) (bool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer parent.Close()
	return capture.InUse(parent, filepath.Base(path))
}

func (disk) exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (disk) locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	unlocked, err := atomicfile.TryRLock(f)
	return err == nil && !unlocked
}

func (disk) digest(ctx context.Context, path string) (digest.Digest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New(path + " is no longer a regular file")
	}
	f, err := capture.OpenFile(ctx, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.Read(f)
}

// archived opens the members of an archive.
type archived struct{ members *tarfs.FS }

func (a archived) read(name string, limit int) ([]byte, error) {
	return record.ReadBoundedFS(a.members, path.Clean(name), limit)
}

func (a archived) open(ctx context.Context, name string) (*capture.Capture, error) {
	return capture.OpenFS(ctx, a.members, path.Clean(name), "")
}

func (a archived) check(ctx context.Context, name string) ([]finding.Finding, error) {
	return capture.CheckFS(ctx, a.members, path.Clean(name))
}

func (archived) inUse(string) (bool, error) { return false, nil }

func (a archived) exists(name string) bool {
	_, err := fs.Stat(a.members, path.Clean(name))
	return !errors.Is(err, fs.ErrNotExist)
}

func (archived) locked(string) bool { return false }

func (a archived) digest(_ context.Context, name string) (digest.Digest, error) {
	f, err := a.members.Open(path.Clean(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.Read(f)
}
