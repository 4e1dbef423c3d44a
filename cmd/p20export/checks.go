package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

// checkOutput reports an output directory, given by a flag, that lies in a
// capture: nothing is ever written into one.
func checkOutput(flag, dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is empty", flag)
	}
	in, err := capture.Around(dir)
	if err == nil && in != "" {
		err = fmt.Errorf("%s %s lies in the capture %s, which nothing is written into", flag, finding.Escape(dir), finding.Escape(in))
	}
	return err
}

// checkNames reports, before anything is written, two captures that would be
// frozen under one name, or a name that is no file name.
func checkNames(paths []string, name string) error {
	if name != "" {
		if len(paths) > 1 {
			return errors.New("--name goes with one capture")
		}
		if name != filepath.Base(name) || name == "." || name == ".." || strings.ContainsRune(name, os.PathSeparator) {
			return fmt.Errorf("--name %s is not a plain file name", finding.Quote(name))
		}
	}
	seen := make(map[string]string, len(paths))
	for _, path := range paths {
		base := cmp.Or(name, capture.BaseName(path))
		if !utf8.ValidString(base) {
			return fmt.Errorf("the name %s is not UTF-8 and cannot stand in a record; give another with --name", finding.Quote(base))
		}
		if other, ok := seen[base]; ok {
			return fmt.Errorf("%s and %s would both be frozen as %s; freeze them apart, with --name", finding.Escape(other), finding.Escape(path), finding.Escape(base))
		}
		seen[base] = path
	}
	return nil
}
