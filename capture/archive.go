package capture

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path"
	"time"

	"github.com/p20export/p20export/finding"
)

// WriteTar writes the capture in the directory name of root to w as a tar archive: the
// manifest, and the files that it lists, in a directory with the same name. It compares the
// sizes of the files with the manifest before it writes anything; whoever reads the archive
// compares the digests. Equal captures have equal archives. The errors are those of Open, and
// capture_digest_mismatch. If one occurs after the beginning, the archive is not complete, and
// cannot be read to its end. No symbolic link is followed.
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
	archived, size, err := from.openRegular(ManifestName)
	if err != nil {
		return err
	}
	defer archived.Close()
	members := []member{{archived, ManifestName, size}}
	for _, e := range m.Files.entries() {
		f, size, err := from.openRegular(e.name)
		if err != nil {
			return err
		}
		defer f.Close()
		if size != e.file.Bytes {
			return finding.New(finding.DigestMismatch, "%s has %d bytes, and %d in %s", e.name, size, e.file.Bytes, ManifestName)
		}
		members = append(members, member{f, e.name, size})
	}
	to := tar.NewWriter(w)
	for _, f := range members {
		head := tar.Header{Name: path.Join(name, f.name), Mode: 0o644, Size: f.size, ModTime: m.EndedAt.Truncate(time.Second)}
		if err := to.WriteHeader(&head); err != nil {
			return err
		}
		if _, err := io.CopyN(to, &contextReader{ctx, f}, f.size); err != nil {
			return err
		}
	}
	return to.Close()
}

// member is an open file of a capture.
type member struct {
	file
	name string
	size int64
}
