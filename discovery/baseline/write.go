package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/internal/atomicfile"
)

// ErrUnread is returned by Write if a capture could not be read.
var ErrUnread = errors.New("a capture could not be read")

// Write writes a baseline of runs to a file, replacing its contents. It ignores runs that
// Compare added as missing. It returns ErrUnread if a capture could not be read, because
// the baseline would lack its runs.
func Write(path string, runs []analysis.Run, contract artifact.Profile) error {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r analysis.Run) bool { return r.Verdict == analysis.Missing })
	if slices.ContainsFunc(runs, func(r analysis.Run) bool { return r.Digest == "" }) {
		return ErrUnread
	}
	b, err := New(runs, contract)
	if err != nil {
		return err
	}
	data, err := b.Encode()
	if err != nil {
		return err
	}
	if err := capture.CheckOutside(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.ReplaceFile(path, data)
}

// CheckReplaceable returns an error if path is a file that a baseline must not replace,
// such as evidence. Only an empty file or a baseline may be replaced. A symbolic link is
// an error, because the link would be replaced instead of its target.
func CheckReplaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil // Write reports the error
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case info.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 1<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !bytes.HasPrefix(head[:n], []byte("{\n  \"schema\": "+strconv.Quote(Schema))) {
		return fmt.Errorf("%s is not a baseline and is not replaced", path)
	}
	return nil
}
