package verify

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/tarfs"
	"github.com/p20export/p20export/project/record"
)

// files opens the files of a tree by their paths. Its errors contain these paths.
type files interface {
	// read reads a regular file of at most limit bytes, like record.ReadBounded.
	read(path string, limit int) ([]byte, error)
	// open opens a capture, like capture.Open.
	open(ctx context.Context, path string) (*capture.Capture, error)
	// digest returns the digest of a regular file's bytes.
	digest(ctx context.Context, path string) (digest.Digest, error)
}

// disk opens the files of the file system.
type disk struct{}

func (disk) read(path string, limit int) ([]byte, error) { return record.ReadBounded(path, limit) }

func (disk) open(ctx context.Context, path string) (*capture.Capture, error) {
	return capture.Open(ctx, path, "")
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

func (a archived) digest(_ context.Context, name string) (digest.Digest, error) {
	f, err := a.members.Open(path.Clean(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.Read(f)
}
