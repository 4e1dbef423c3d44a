package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
)

// Output is a file that an import wrote, or that already existed with the same bytes.
type Output struct {
	File string
	// RunID is the run id of the events. It is nil if each event has its own run id.
	RunID  *string
	Events int
	// RunRoot identifies a bundle. It is nil for lines.
	RunRoot *digest.Digest
	// Digest and Bytes are those of the file.
	Digest digest.Digest
	Bytes  int64
}

// maxParts bounds the number of bundles of one import.
const maxParts = 9999

// BundleSuffix is the suffix of the names of bundles.
const BundleSuffix = ".tar.gz"

// part is a range of events for one bundle.
type part struct {
	from, to int
	run      assay.Run
	file     string
}

// split splits the events into as few bundles as possible. If there are several, each
// has its own numbered run and file.
func (e *Events) split(file string) []part {
	parts := e.divide(func(int) part { return part{run: e.run, file: file} })
	if len(parts) == 1 {
		return parts
	}
	return e.divide(func(i int) part {
		number := fmt.Sprintf("-%04d", i+1)
		p := part{run: e.run, file: strings.TrimSuffix(file, BundleSuffix) + number + BundleSuffix}
		p.run.ID += number
		return p
	})
}

func (e *Events) divide(begin func(number int) part) []part {
	var parts []part
	var now part
	size := 0
	for i := range e.places {
		line := func() int {
			return assay.LineLen(e.places[i].typ, int(e.places[i].end-e.start(i)), now.run, i-now.from)
		}
		if i == 0 || i-now.from == e.maxEvents || size+line() > e.maxBytes {
			now, size = begin(len(parts)), 0
			now.from = i
			parts = append(parts, now)
		}
		size += line()
		parts[len(parts)-1].to = i + 1
	}
	return parts
}

// WriteBundles writes the events to one bundle or, if several is set, to as many as are
// necessary. It writes all bundles or none.
func (e *Events) WriteBundles(ctx context.Context, file string, several bool) ([]Output, error) {
	parts := e.split(file)
	if len(parts) > 1 && !several {
		return nil, finding.New(finding.BundleLimit, "%d events need %d bundles; one bundle can contain 100,000 events and 100 MiB of events", e.Len(), len(parts))
	}
	if len(parts) > maxParts {
		return nil, finding.New(finding.BundleLimit, "%d events need %d bundles; one import can write %d", e.Len(), len(parts), maxParts).WithHint("import fewer artifacts at a time")
	}
	dir, err := openOutput(file)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var outputs []Output
	var files []atomicfile.Named
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	for _, p := range parts {
		out := Output{File: p.file, RunID: &p.run.ID, Events: p.to - p.from}
		staged, err := out.stage(dir, func(w io.Writer) error {
			b, err := assay.WriteBundle(w, p.run, e.slice(ctx, p.from, p.to))
			out.RunRoot = &b.RunRoot
			return err
		})
		if err != nil {
			return nil, err
		}
		files = append(files, staged)
		if err := e.verifyStaged(ctx, staged, p.from); err != nil {
			return nil, err
		}
		outputs = append(outputs, out)
	}
	return outputs, e.publish(ctx, dir, files...)
}

// verifyStaged verifies a written bundle before it gets its name. The number of events in
// the bundles before it is done.
func (e *Events) verifyStaged(ctx context.Context, staged atomicfile.Named, done int) error {
	v, err := assay.Verify(staged.Reader(), assay.Options{Strict: true, Entry: func(assay.Entry) error {
		done++
		e.progress(StepVerifying, done)
		return context.Cause(ctx)
	}})
	if err == nil && len(v.Deviations) > 0 {
		err = errors.New(v.Deviations[0].Message)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("verify the written bundle: %w", err)
	}
	return err
}

// WriteNDJSON writes the events as lines to a file.
func (e *Events) WriteNDJSON(ctx context.Context, file string) (Output, error) {
	out := Output{File: file, Events: e.Len()}
	if e.ids == nil {
		out.RunID = &e.run.ID
	}
	dir, err := openOutput(file)
	if err != nil {
		return out, err
	}
	defer dir.Close()
	staged, err := out.stage(dir, func(w io.Writer) error { return e.WriteLines(ctx, w) })
	if err != nil {
		return out, err
	}
	defer staged.Discard()
	return out, e.publish(ctx, dir, staged)
}

// openOutput opens the directory of an output file. It returns an error if the
// directory is in a capture.
func openOutput(file string) (*atomicfile.Directory, error) {
	// filepath.Dir would resolve link/../name differently than the system does.
	dir, _ := filepath.Split(file)
	dir = cmp.Or(dir, ".")
	if err := capture.CheckOutside(dir); err != nil {
		return nil, err
	}
	return atomicfile.OpenDirectory(dir)
}

// stage writes the content of the output's file, which does not have its name yet.
func (o *Output) stage(dir *atomicfile.Directory, write func(io.Writer) error) (atomicfile.Named, error) {
	hash := digest.Hash()
	staged, err := dir.Create(func(w io.Writer) error {
		size := new(counter)
		err := write(io.MultiWriter(w, hash, size))
		o.Bytes = int64(*size)
		return err
	})
	o.Digest = digest.Sum(hash)
	return atomicfile.Named{Staged: staged, Name: filepath.Base(o.File), Same: atomicfile.Equal}, err
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// publish gives the files their names unless the context has ended.
func (e *Events) publish(ctx context.Context, dir *atomicfile.Directory, files ...atomicfile.Named) error {
	err := dir.Publish(ctx, files...)
	if err == nil {
		e.left = atomicfile.LeftoverNames(files...)
		return dir.Sync()
	}
	if errors.Is(err, fs.ErrExist) {
		err = finding.New(finding.OutputExists, "%s", finding.Escape(err.Error())).WithHint("evidence is never overwritten: choose another name, or move the old file away")
	}
	return err
}
