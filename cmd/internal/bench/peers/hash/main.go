// Command hash opens, reads and hashes files, and does nothing else. Every
// program that freezes captures has to do this, and more.
//
//	hash [-jobs N] FILE... | -list FILE
//
// It prints the digests in the order of the files.
package main

import (
	"bufio"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hash:", err)
		os.Exit(1)
	}
}

func run() error {
	jobs := flag.Int("jobs", 1, "hash this number of files at a time")
	list := flag.String("list", "", "a file with the paths of the files, one a line")
	flag.Parse()
	files := flag.Args()
	if *list != "" {
		text, err := os.ReadFile(*list)
		if err != nil {
			return err
		}
		files = strings.Fields(string(text))
	}
	digests, errs := make([][sha256.Size]byte, len(files)), make([]error, *jobs)
	var all sync.WaitGroup
	for job := range *jobs {
		all.Go(func() {
			buffer := make([]byte, 64<<10)
			for i := job; i < len(files) && errs[job] == nil; i += *jobs {
				digests[i], errs[job] = hash(files[i], buffer)
			}
		})
	}
	all.Wait()
	w := bufio.NewWriter(os.Stdout)
	for i, file := range files {
		fmt.Fprintf(w, "%x  %s\n", digests[i], file)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

func hash(path string, buffer []byte) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	// The wrapper hides WriteTo, so that the buffer is used.
	if _, err = io.CopyBuffer(h, struct{ io.Reader }{f}, buffer); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}
