package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/p20export/p20export/finding"
)

// Describe returns the manifest of the capture in the directory name of root, and true. If
// the capture is not finished, it returns the manifest with which its writer began it, without
// what is known only at the end, and false. The error matches fs.ErrNotExist if the directory
// is not a capture. It is a finding if a manifest is malformed. Describe does not read the
// other files, and follows no symbolic link.
func Describe(root *os.Root, name string) (m *Manifest, finished bool, err error) {
	dir, err := openChild(root, name)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	for range 2 { // its writer may replace the claim with the manifest meanwhile
		var unfinished finding.Finding
		if m, _, err = inRoot(dir).readManifest(); !errors.As(err, &unfinished) || unfinished.Code != finding.CaptureUnfinished {
			return m, err == nil, err
		}
		if m, err = readClaim(dir); !errors.Is(err, fs.ErrNotExist) {
			return m, false, err
		}
	}
	return nil, false, err
}

// readClaim returns the manifest with which the writer of a capture began it.
func readClaim(dir *os.Root) (*Manifest, error) {
	f, err := openIn(dir, ClaimName, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxManifestBytes+1))
	if err != nil {
		return nil, err
	}
	return DecodeManifest(b)
}
