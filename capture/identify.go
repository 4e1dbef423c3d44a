package capture

import (
	"context"
	"io/fs"
	"os"

	"github.com/p20export/p20export/digest"
)

// Identity tells a capture from others.
type Identity struct {
	// Manifest is the digest of capture.json, or "" for a plain file.
	Manifest digest.Digest
	// Response is the digest of the stored response. For a capture directory it is the
	// one that the manifest states; the response is not opened.
	Response digest.Digest
	// Labels are those of Capture.Labels.
	Labels map[string]string
}

// Identify returns what tells the capture at path from others. The errors are those of Open.
func Identify(ctx context.Context, path string) (Identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Identity{}, err
	}
	if info.IsDir() {
		return onDisk(path).identify()
	}
	f, err := openFile(ctx, path, info)
	if err != nil {
		return Identity{}, err
	}
	defer f.Close()
	response, err := digest.Read(f)
	return Identity{Response: response}, err
}

// IdentifyFS is Identify for a capture in a file system.
func IdentifyFS(ctx context.Context, fsys fs.FS, path string) (Identity, error) {
	info, err := fs.Stat(fsys, path)
	if err != nil {
		return Identity{}, err
	}
	if info.IsDir() {
		return inFS(fsys, path).identify()
	}
	f, err := fsys.Open(path)
	if err != nil {
		return Identity{}, err
	}
	defer f.Close()
	response, err := digest.Read(&contextReader{ctx, f})
	return Identity{Response: response}, err
}

// identify is Identify for a capture directory.
func (d *files) identify() (Identity, error) {
	m, sum, err := d.readManifest()
	if err != nil {
		return Identity{}, err
	}
	return Identity{Manifest: sum, Response: m.Response().Digest, Labels: m.allLabels()}, nil
}
