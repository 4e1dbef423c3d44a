package capture

import (
	"context"
	"io/fs"
	"os"

	"github.com/p20export/p20export/digest"
)

// Identify returns the digests that tell the capture at path from others. For a capture
// directory they are the digest of capture.json and the digest of the response that it
// states; the response is not opened. For a plain file they are "" and the digest of its
// bytes. The errors are those of Open.
func Identify(ctx context.Context, path string) (manifest, response digest.Digest, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return onDisk(path).identify()
	}
	f, err := openFile(ctx, path, info)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	response, err = digest.Read(f)
	return "", response, err
}

// IdentifyFS is Identify for a capture in a file system.
func IdentifyFS(ctx context.Context, fsys fs.FS, path string) (manifest, response digest.Digest, err error) {
	info, err := fs.Stat(fsys, path)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return inFS(fsys, path).identify()
	}
	f, err := fsys.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	response, err = digest.Read(&contextReader{ctx, f})
	return "", response, err
}

// identify is Identify for a capture directory.
func (d *files) identify() (manifest, response digest.Digest, err error) {
	m, sum, err := d.readManifest()
	if err != nil {
		return "", "", err
	}
	return sum, m.Response().Digest, nil
}
