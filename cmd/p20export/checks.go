package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/export"
	"github.com/p20export/p20export/project/freeze"
)

// checkOutput reports an output directory, given by a flag, that is or lies in a
// capture: nothing is ever written into one.
func checkOutput(flag, dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is empty", flag)
	}
	return checkIn(flag, dir, dir)
}

// checkOutputFile is checkOutput for a file.
func checkOutputFile(flag, file string) error {
	dir, _ := filepath.Split(file) // Dir would make another path of link/../name than the system does
	return checkIn(flag, file, dir)
}

func checkIn(flag, path, dir string) error {
	err := capture.CheckOutside(dir)
	if in, ok := errors.AsType[*capture.InsideError](err); ok {
		return fmt.Errorf("%s %w", flag, &capture.InsideError{Path: path, Capture: in.Capture})
	}
	if err != nil { // the working directory is gone
		return fmt.Errorf("%w: %w", errInput, err)
	}
	return nil
}

// findCaptures returns the captures that arguments name, those in directories that
// are none included.
func findCaptures(cmd *cobra.Command, args []string) ([]capture.Found, error) {
	for _, arg := range args {
		if err := checkURL(arg); err != nil {
			return nil, err
		}
	}
	if err := checkNoBundles(args...); err != nil {
		return nil, err
	}
	all, err := capture.Find(cmd.Context(), args)
	if f, ok := errors.AsType[finding.Finding](err); ok {
		return nil, fmt.Errorf("%w: %s; %s", errInput, f.Message, f.Hint)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInput, err)
	}
	return all, nil
}

// findPaths returns the paths of the captures that arguments name.
func findPaths(cmd *cobra.Command, args []string) ([]string, error) {
	all, err := findCaptures(cmd, args)
	paths := make([]string, len(all))
	for i, c := range all {
		paths[i] = c.Path
	}
	return paths, err
}

// isURL reports whether an argument is a URL, and no path of a file that is there.
func isURL(arg string) bool {
	_, err := os.Lstat(arg)
	return err != nil && isEndpoint(arg)
}

// checkFiles reports a URL where a file belongs.
func checkFiles(args ...string) error {
	if i := slices.IndexFunc(args, isURL); i >= 0 {
		return fmt.Errorf("%s is a URL, and a file is wanted; download it, and name the file", finding.Quote(args[i]))
	}
	return nil
}

// checkNoBundles reports a bundle where another file belongs.
func checkNoBundles(args ...string) error {
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() || !strings.HasSuffix(arg, export.BundleSuffix) {
			continue
		}
		return fmt.Errorf("%s is named like a bundle; verify it with: p20export assay verify BUNDLE", finding.Quote(arg))
	}
	return nil
}

// checkURL reports a URL where a capture belongs.
func checkURL(arg string) error {
	if !isURL(arg) {
		return nil
	}
	return fmt.Errorf("%s is a URL, and no capture; record a run from it with: p20export capture URL --input REQUEST -o DIR", finding.Quote(arg))
}

// checkFreezing reports, before anything is written, two captures that would be
// frozen under one name, a name that is no file name, or a directory of the output
// that lies in a capture.
func checkFreezing(captures []capture.Found, name, out string) error {
	if name != "" && len(captures) > 1 {
		return errors.New("--name goes with one capture")
	}
	err := freeze.CheckNames(captures, name)
	if bad, ok := errors.AsType[*freeze.NameError](err); ok && bad.Repeated() {
		return err
	} else if ok && len(bad.Paths) > 1 {
		return fmt.Errorf("%w; freeze them apart, with --name", err)
	} else if ok {
		return fmt.Errorf("%w; give another with --name", err)
	}
	checked := map[string]bool{}
	for _, c := range captures {
		if dir := c.Under(out); !checked[dir] {
			checked[dir] = true
			if err := checkOutput("-o", dir); err != nil {
				return err
			}
		}
	}
	return err
}
