package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A file is an entry of an archive.
type file struct {
	name string
	data []byte
	mode fs.FileMode
}

// under returns files in a directory.
func under(directory string, files []file) []file {
	list := slices.Clone(files)
	for i := range list {
		list[i].name = directory + list[i].name
	}
	return list
}

// glob returns the files that match a pattern, in a directory of an archive.
func glob(pattern, directory string) ([]file, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("nothing matches %s", pattern)
	}
	var list []file
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		list = append(list, file{directory + filepath.Base(p), data, 0o644})
	}
	return list, nil
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// writeTar writes files, sorted by name, as a tar archive compressed with gzip. All times are at.
func writeTar(path string, files []file, at time.Time) error {
	return writeCompressed(path, files, at, func(w io.Writer) (io.WriteCloser, error) {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err == nil {
			z.ModTime = at
		}
		return z, err
	})
}

// writeCompressed is like writeTar with another compression.
func writeCompressed(path string, files []file, at time.Time, compress func(io.Writer) (io.WriteCloser, error)) error {
	var out bytes.Buffer
	z, err := compress(&out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range sorted(files) {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// writeZip is like writeTar for a zip archive, in the order of the files if they have one.
func writeZip(path string, files []file, at time.Time) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		e, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := e.Write(f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
