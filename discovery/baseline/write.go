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

// ErrUnread says that a capture was not read, so that its runs are not known.
var ErrUnread = errors.New("a capture could not be read")

// Write writes the baseline of runs to a file, in place of what it held; those that
// are missing since another baseline are left out. The error matches ErrUnread
// when the baseline would lack a run.
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

// CheckReplaceable reports why a baseline may not be written to path: it has
// something that is no baseline, which may be evidence. An empty file is none. A
// symbolic link is refused, as the link would be replaced and not its file.
func CheckReplaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil // writing will say so
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
