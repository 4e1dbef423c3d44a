// Package golden compares captures with goldens: files with the traces of earlier captures
// (docs/traces.md), which are kept with the code of an integration and read when they change.
//
// It must not contain rules of traces, and goldens are not evidence.
package golden

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/tracediff"
)

// Check returns an error if two captures have the same name, which is that of their golden, or
// if a name is not valid UTF-8.
func Check(captures []string) error {
	of := map[string]string{}
	for _, path := range captures {
		name := capture.BaseName(path)
		if !utf8.ValidString(name) {
			return fmt.Errorf("the capture name %s is not valid UTF-8 and cannot be the name of a golden", finding.Quote(name))
		}
		if other, ok := of[name]; ok {
			return fmt.Errorf("%s and %s have the same name, which is that of their golden; compare them separately, with a directory of goldens for each", finding.Quote(other), finding.Quote(path))
		}
		of[name] = path
	}
	return nil
}

// Compare compares a capture with its golden. It passes each difference to each. The error is
// that of each.
func (d *Directory) Compare(ctx context.Context, path string, progress scan.Progress, each func(tracediff.Difference) error) (tracediff.Row, error) {
	file := d.file(capture.BaseName(path))
	if _, err := os.Lstat(file); os.IsNotExist(err) {
		return tracediff.Alone(capture.BaseName(path), file, path, true, finding.New(finding.TraceUnmatched, "there is no golden %s", finding.Escape(file)).
			WithHint(hint.WriteGolden)), nil
	}
	if err := checkRegular(file); err != nil {
		return tracediff.Alone(capture.BaseName(path), file, path, true, finding.New(finding.GoldenMalformed, "%s", err)), nil
	}
	return tracediff.Compare(ctx, tracediff.Trace{Path: file, Golden: true}, tracediff.Trace{Path: path, Progress: progress}, d.Settings, each)
}

// Rest returns a row for each golden whose scenario is none of these.
func (d *Directory) Rest(scenarios []string) ([]tracediff.Row, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var rows []tracediff.Row
	for _, name := range names {
		if slices.Contains(scenarios, name) {
			continue
		}
		rows = append(rows, tracediff.Alone(name, d.file(name), "", false, finding.New(finding.TraceUnmatched, "there is no capture %s for the golden %s", finding.Quote(name), finding.Escape(d.file(name))).
			WithHint("capture the scenario too, or delete the golden if the scenario is no more")))
	}
	return rows, nil
}

// Names returns the names of captures, which are those of their goldens.
func Names(captures []string) []string {
	names := make([]string, len(captures))
	for i, path := range captures {
		names[i] = capture.BaseName(path)
	}
	return names
}

// replaceable returns an error if a path is something that a golden must not replace.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "replace", Path: path, Err: fmt.Errorf("it is not a regular file")}
	}
	if os.IsNotExist(err) {
		return capture.CheckOutside(filepath.Dir(path))
	}
	return err
}
