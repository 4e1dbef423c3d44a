// Command link writes files under temporary names, links them to their names and removes the
// temporary names. It does not sync, read captures or check anything. It is the least that
// writing the files of many captures can cost without losing the property that a file is
// complete as soon as it has its name.
//
//	link [-jobs N] -sizes FILE -o DIR
//
// FILE has a size and a name on each line. The names are those of the files in DIR, and the
// files of a capture are on consecutive lines.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// perCapture is the number of files of a capture.
const perCapture = 3

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
		os.Exit(1)
	}
}

func run() error {
	jobs := flag.Int("jobs", 1, "write the files of this number of captures at a time")
	sizes := flag.String("sizes", "", "a file with the size and the name of each file")
	dir := flag.String("o", "", "the directory to write to")
	flag.Parse()
	text, err := os.ReadFile(*sizes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o777); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	errs := make([]error, *jobs)
	var all sync.WaitGroup
	for job := range *jobs {
		all.Go(func() {
			for i := job * perCapture; i < len(lines) && errs[job] == nil; i += *jobs * perCapture {
				for _, line := range lines[i:min(i+perCapture, len(lines))] {
					errs[job] = errors.Join(errs[job], write(*dir, line))
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

var filler = bytes.Repeat([]byte("The same three files, by name and size.\n"), 1<<10)

// write writes one file.
func write(dir, line string) error {
	size, name, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	if n > len(filler) {
		return fmt.Errorf("%s: %d bytes are too many", name, n)
	}
	path := filepath.Join(dir, name)
	temporary := path + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(filler[:n]); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Close(), os.Link(temporary, path), os.Remove(temporary))
}
