package captures

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// perDirectory is the number of captures in a directory of Small.
const perDirectory = 100

// File writes a capture to a file, unless the file exists. A file that exists is complete,
// because captures get their name last.
func File(path string, shape Shape, size int64, seed uint64) error {
	return create(path, func(w io.Writer) error { return Write(w, shape, size, seed) })
}

// create writes a file under a temporary name and then renames it. It does nothing if the
// file exists.
func create(path string, write func(io.Writer) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.Create(path + ".partial")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(w), w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Small writes count captures of about size bytes, all different, to files of the directory
// and its subdirectories. Beside the directory it writes a list of their paths, in order
// (dir + ".list"), and a tar archive of them (dir + ".tar"). It does nothing if the archive
// exists.
func Small(dir string, shape Shape, count int, size int64) error {
	if _, err := os.Stat(dir + ".tar"); err == nil {
		return nil
	}
	var list bytes.Buffer
	err := create(dir+".tar", func(w io.Writer) error {
		archive := tar.NewWriter(w)
		for i := range count {
			name := fmt.Sprintf("%03d/%06d.sse", i/perDirectory, i)
			var b bytes.Buffer
			if err := Write(&b, shape, size, uint64(i)); err != nil {
				return err
			}
			path := filepath.Join(dir, filepath.FromSlash(name))
			fmt.Fprintln(&list, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
				return err
			}
			header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(b.Len()), Mode: 0o644, Format: tar.FormatUSTAR}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			if _, err := archive.Write(b.Bytes()); err != nil {
				return err
			}
		}
		return errors.Join(archive.Close(), os.WriteFile(dir+".list", list.Bytes(), 0o666))
	})
	return err
}

// ParseSize reads a number of bytes with an optional k, M or G, which stand for powers of
// 1000.
func ParseSize(s string) (int64, error) {
	factor := int64(1)
	for i, letter := range []string{"k", "M", "G"} {
		if number, ok := strings.CutSuffix(s, letter); ok {
			s = number
			for range i + 1 {
				factor *= 1000
			}
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > 1<<40/factor {
		return 0, fmt.Errorf("%q is not a size; give a number of bytes with an optional k, M or G", s)
	}
	return n * factor, nil
}
