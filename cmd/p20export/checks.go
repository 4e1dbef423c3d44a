package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/p20export/p20export/capture"
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
	return err
}

// checkNames reports, before anything is written, two captures that would be
// frozen under one name, or a name that is no file name.
func checkNames(paths []string, name string) error {
	if name != "" {
		if len(paths) > 1 {
			return errors.New("--name goes with one capture")
		}
	}
	err := freeze.CheckNames(paths, name)
	if bad, ok := errors.AsType[*freeze.NameError](err); ok && len(bad.Paths) > 1 {
		return fmt.Errorf("%w; freeze them apart, with --name", err)
	} else if ok {
		return fmt.Errorf("%w; give another with --name", err)
	}
	return err
}
