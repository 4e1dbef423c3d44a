package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
)

// openInputs returns the captures that the command line names: its arguments, the entries
// of a list, or the members of an archive.
func openInputs(cmd *cobra.Command, b *cli.Batch, args []string) (*inputs.Source, error) {
	switch {
	case b.List != "":
		if isArchive(b.List) && !isURL(b.List) {
			return nil, fmt.Errorf("--from-list %s has the name of an archive; read it with --from-tar", finding.Quote(b.List))
		}
		src, err := inputs.OpenList(cmd.Context(), b.List)
		return src, batchFileError("from-list", b.List, err)
	case b.Tar != "":
		src, err := inputs.OpenTar(cmd.Context(), b.Tar)
		return src, batchFileError("from-tar", b.Tar, err)
	}
	for _, arg := range args {
		if err := checkURL(arg); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(args, isArchive); i >= 0 {
		return nil, fmt.Errorf("%s has the name of an archive; read the captures in it with --from-tar. To verify a bundle, use: p20export assay verify BUNDLE", finding.Quote(args[i]))
	}
	src, err := inputs.Paths(cmd.Context(), args)
	return src, inputError(err)
}

// isArchive reports whether a path has the name of a tar archive and is not a directory.
func isArchive(path string) bool {
	for _, suffix := range cli.ArchiveSuffixes() {
		if strings.HasSuffix(path, "."+suffix) {
			info, err := os.Stat(path)
			return err != nil || !info.IsDir()
		}
	}
	return false
}

// batchFileError returns the error for the file of --from-list or --from-tar.
func batchFileError(flag, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("--%s %s is a directory; give it as an argument instead", flag, finding.Escape(path))
	case isURL(path):
		return fmt.Errorf("--%s %s is a URL; download it and name the file", flag, finding.QuoteURL(path))
	}
	return inputError(err)
}

// inputError returns the error for inputs that cannot be read.
func inputError(err error) error {
	if f, ok := errors.AsType[finding.Finding](err); ok {
		text := f.Message
		if f.Hint != "" {
			text += "\nnext: " + f.Hint
		}
		return fmt.Errorf("%w: %s", errInput, text)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	return nil
}

// isSingle reports whether the command line names one capture, which is not in a list or
// an archive.
func isSingle(b *cli.Batch, args []string) bool {
	return b.HasArguments() && len(args) == 1 && !capture.IsSearchRoot(args[0])
}

// unread says that the list or archive of a batch has an end that was not read.
func unread(b *cli.Batch) string {
	what := "list"
	if b.Tar != "" {
		what = "archive"
	}
	return "the " + what + " could not be read to its end"
}

// inputsOf returns the captures of a source up to an error, and a function that returns
// the error after the last capture.
func inputsOf(ctx context.Context, src *inputs.Source) (iter.Seq[*inputs.Input], func() error) {
	var failed error
	all := func(yield func(*inputs.Input) bool) {
		for in, err := range src.All(ctx) {
			if failed = err; err != nil || !yield(in) {
				return
			}
		}
	}
	return all, func() error { return failed }
}

// withoutErrors returns the captures in the form that freeze.Batch takes.
func withoutErrors(all iter.Seq[*inputs.Input]) iter.Seq2[*inputs.Input, error] {
	return func(yield func(*inputs.Input, error) bool) {
		for in := range all {
			if !yield(in, nil) {
				return
			}
		}
	}
}
