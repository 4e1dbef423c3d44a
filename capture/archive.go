package capture

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path"
	"time"
)

// WriteTar writes the capture in the directory name of root to w as a tar archive: the
// manifest, and the files that it lists, in a directory with the same name. The files are
// copied as they are; whoever reads the capture compares them with the manifest. Equal captures
// have equal archives. The errors are those of Open. If one occurs after the beginning, the
// archive is not complete, and cannot be read to its end. No symbolic link is followed.
func WriteTar(ctx context.Context, root *os.Root, name string, w io.Writer) error {
	dir, err := openChild(root, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	from := inRoot(dir)
	m, _, err := from.readManifest()
	if err != nil {
		return err
	}
	to := tar.NewWriter(w)
	for _, file := range append([]string{ManifestName}, m.Files.Names()...) {
		if err := from.archive(ctx, to, file, name, m.EndedAt); err != nil {
			return err
		}
	}
	return to.Close()
}

// archive copies a file to a directory of an archive.
func (d *files) archive(ctx context.Context, to *tar.Writer, name, in string, at time.Time) error {
	f, size, err := d.openRegular(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := to.WriteHeader(&tar.Header{Name: path.Join(in, name), Mode: 0o644, Size: size, ModTime: at.Truncate(time.Second)}); err != nil {
		return err
	}
	_, err = io.CopyN(to, &contextReader{ctx, f}, size)
	return err
}
