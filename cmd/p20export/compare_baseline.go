package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/internal/atomicfile"
)

// writeBaseline writes the shape of runs to a file, in place of what it held.
func writeBaseline(path string, runs []discovery.Examination, profile artifact.Profile) error {
	runs = slices.DeleteFunc(slices.Clone(runs), func(e discovery.Examination) bool { return e.Verdict == discovery.Missing })
	b, err := discovery.NewBaseline(runs, profile)
	if err != nil {
		return err
	}
	data, err := b.Encode()
	if err == nil {
		err = atomicfile.ReplaceFile(path, data)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}

// replaceable reports why a baseline may not be written to path: it has
// something that is no baseline, which may be evidence. An empty file is none. A
// symbolic link is refused, as the link would be replaced and not its file.
func replaceable(path string) error {
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
	if !bytes.HasPrefix(head[:n], []byte("{\n  \"schema\": "+strconv.Quote(discovery.BaselineSchema))) {
		return fmt.Errorf("%s is no baseline, and is not replaced by one", path)
	}
	return nil
}
