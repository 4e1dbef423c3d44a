package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/export"
	"github.com/p20export/p20export/project/freeze"
)

// checkOutput returns an error if the output directory given by a flag is a capture
// or is inside one: captures are never written to.
func checkOutput(flag, dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is empty", flag)
	}
	return checkIn(flag, dir, dir)
}

// checkOutputFile is like checkOutput for a file.
func checkOutputFile(flag, file string) error {
	dir, _ := filepath.Split(file) // filepath.Dir resolves link/../name differently from the system
	return checkIn(flag, file, dir)
}

// checkNewFile returns an error if the value of -o cannot be the name of a file to write. It
// can be - for standard output.
func checkNewFile(out string) error {
	_, name := filepath.Split(out)
	info, err := os.Stat(out)
	switch {
	case out == "-":
		return nil
	case out == "":
		return errors.New("-o is empty")
	case isURL(out):
	case name == "" || err == nil && info.IsDir():
		return fmt.Errorf("-o %s is a directory; give the name of a file in it", finding.Quote(out))
	}
	return checkOutputFile("-o", out)
}

func checkIn(flag, path, dir string) error {
	if isURL(path) {
		return fmt.Errorf("%s %s is a URL, not a path", flag, finding.QuoteURL(path))
	}
	err := capture.CheckOutside(dir)
	if in, ok := errors.AsType[*capture.InsideError](err); ok {
		if isSame(path, in.Capture) {
			return fmt.Errorf("%s %s is a capture; nothing may be written there", flag, path)
		}
		return fmt.Errorf("%s %w", flag, &capture.InsideError{Path: path, Capture: in.Capture})
	}
	if err != nil { // the working directory was deleted
		return fmt.Errorf("%w: %w", errInput, err)
	}
	return nil
}

// isSame reports whether both paths name the same directory.
func isSame(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// findCaptures returns the captures named by the arguments. An argument that is a
// directory but not a capture means the captures below it.
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
	if err != nil {
		return nil, inputError(err)
	}
	return all, nil
}

// findPaths returns the paths of the captures that findCaptures finds.
func findPaths(cmd *cobra.Command, args []string) ([]string, error) {
	all, err := findCaptures(cmd, args)
	paths := make([]string, len(all))
	for i, c := range all {
		paths[i] = c.Path
	}
	return paths, err
}

// isURL reports whether an argument looks like a URL and is not the path of an existing file.
func isURL(arg string) bool {
	_, err := os.Lstat(arg)
	return err != nil && cli.LooksLikeURL(arg)
}

// checkFiles returns an error if an argument is a URL: a file is needed.
func checkFiles(args ...string) error {
	if i := slices.IndexFunc(args, isURL); i >= 0 {
		return fmt.Errorf("%s is a URL, not a file; download it and name the file", finding.QuoteURL(args[i]))
	}
	return nil
}

// checkNoBundles returns an error if an argument is a bundle: another file is needed.
func checkNoBundles(args ...string) error {
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() || !strings.HasSuffix(arg, export.BundleSuffix) {
			continue
		}
		return fmt.Errorf("%s has the name of a bundle; verify it with: p20export assay verify BUNDLE", finding.Quote(arg))
	}
	return nil
}

// checkURL returns an error if the argument is a URL: a capture is needed.
func checkURL(arg string) error {
	if !isURL(arg) {
		return nil
	}
	return fmt.Errorf("%s is a URL, not a capture; record a run from it with: p20export capture URL --input REQUEST -o DIR", finding.QuoteURL(arg))
}

// checkFreezing checks arguments before anything is written. It returns an error if two
// captures would be frozen under the same name, if a name is not a file name, if settings
// for one run apply to several captures, or if an output directory is inside a capture.
func checkFreezing(ctx context.Context, src *inputs.Source, args []string, s freeze.Settings, o freeze.BatchOptions, fl *projectionFlags) error {
	_, err := os.Lstat(s.Dir)
	isNew := o.Inline || errors.Is(err, fs.ErrNotExist)
	searched := capture.IsSearchRoot(args[0]) // the captures in one directory have different names
	if len(args) == 1 && searched && isNew && s.Name == "" && !fl.hasTimes() {
		return nil // nothing to check, so a large directory need not be searched twice
	}
	var captures []capture.Found
	count, checked := 0, ""
	for in, err := range src.All(ctx) {
		if err != nil {
			return inputError(err)
		}
		c := capture.Found{Path: in.Path, RelDir: in.RelDir}
		in.Close()
		if count++; len(args) > 1 || !searched || s.Name != "" && count == 1 {
			captures = append(captures, c)
		}
		if dir := c.Under(s.Dir); !isNew && !o.NameByDigest && dir != checked {
			if err := checkOutput("-o", dir); err != nil {
				return err
			}
			checked = dir
		}
	}
	switch err := fl.checkTimes(count); {
	case err != nil:
		return err
	case s.Name != "" && count > 1:
		return errors.New("--name is only for a single capture")
	case o.Inline || o.NameByDigest:
		return nil
	}
	err = freeze.CheckNames(captures, s.Name)
	switch bad, ok := errors.AsType[*freeze.NameError](err); {
	case ok && bad.Repeated():
		return err
	case ok && len(bad.Paths) > 1:
		return fmt.Errorf("%w; freeze them separately, with --name, or use --name-by digest", err)
	case ok:
		return fmt.Errorf("%w; choose another name with --name", err)
	}
	return err
}
