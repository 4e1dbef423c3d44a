package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
)

// CompressedSuffix ends the names of files that Export compresses.
const CompressedSuffix = ".zst"

// windowBytes is the window of compressed files. A client sends the whole conversation with
// each request, and a conversation in the window takes nearly no space when it is repeated.
// Readers of zstd need not support a larger one (RFC 8878 §3.1.1.1.2).
const windowBytes = 8 << 20

// ExportRow is the result of an export. The fields after Verdict are nil if nothing was
// written.
type ExportRow struct {
	Tenant  string          `json:"tenant"`
	Thread  string          `json:"thread_id"`
	File    string          `json:"file"`
	Verdict project.Verdict `json:"verdict"`
	// Entries is the number of exported entries.
	Entries *int64 `json:"entries"`
	// Last is the position of the last of them.
	Last *int64 `json:"last"`
	// Seals is the number of exported seals.
	Seals *int64 `json:"seals"`
	// Bytes is the size of the portable form before it was compressed.
	Bytes *int64 `json:"bytes"`
	// Digest is that of all lines but the last, which has it too.
	Digest   *digest.Digest    `json:"digest"`
	Findings []finding.Finding `json:"findings"`
}

// ExportFile writes the entries of a thread after a position to a file in the portable form,
// and the seals of that position and of later ones. The file is compressed with zstd if its name ends with CompressedSuffix. It is written
// completely or not at all. It never replaces a file, but a file with the same bytes counts
// as written.
func ExportFile(ctx context.Context, log store.Log, key store.Key, file string, after int64) ExportRow {
	row := newExportRow(key, file)
	dir, _ := filepath.Split(file)
	if err := capture.CheckOutside(dir); err != nil {
		row.fail(err)
		return row
	}
	leftover, err := atomicfile.WriteNew(ctx, file, func(w io.Writer) error {
		if !strings.HasSuffix(file, CompressedSuffix) {
			return row.export(ctx, log, key, w, after)
		}
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(windowBytes))
		if err != nil {
			return err
		}
		if err := row.export(ctx, log, key, z, after); err != nil {
			z.Close()
			return err
		}
		return z.Close()
	})
	for _, name := range leftover {
		row.Findings = append(row.Findings, finding.Leftover(name))
	}
	if errors.Is(err, fs.ErrExist) {
		err = finding.New(finding.OutputExists, "%s", finding.Escape(err.Error())).WithHint("%s", hint.ChooseOutput)
	}
	if err != nil {
		row.fail(err)
	}
	return row
}

// Export is like ExportFile, but writes to w and does not compress. If it fails, what it
// wrote has no last line.
func Export(ctx context.Context, log store.Log, key store.Key, w io.Writer, after int64) ExportRow {
	row := newExportRow(key, "-")
	if err := row.export(ctx, log, key, w, after); err != nil {
		row.fail(err)
	}
	return row
}

// WriteThread writes all of a thread to w as Export does. If it fails, what it wrote has no last
// line. The error is that of the log, of ctx or of w.
func WriteThread(ctx context.Context, log store.Log, key store.Key, w io.Writer) error {
	row := newExportRow(key, "-")
	return row.export(ctx, log, key, w, 0)
}

func newExportRow(key store.Key, file string) ExportRow {
	return ExportRow{Tenant: key.Tenant, Thread: key.Thread, File: file, Verdict: project.Written, Findings: []finding.Finding{}}
}

// fail makes row the row of an export that wrote nothing.
func (row *ExportRow) fail(err error) {
	f, isVerdict := fromError(err)
	*row = newExportRow(store.Key{Tenant: row.Tenant, Thread: row.Thread}, row.File)
	row.Verdict = project.Failed
	if isVerdict && f.Code != finding.OutputExists {
		row.Verdict = project.Refused
	}
	row.Findings = append(row.Findings, f)
}

// export writes the thread and completes the row.
func (row *ExportRow) export(ctx context.Context, log store.Log, key store.Key, w io.Writer, after int64) error {
	t, err := log.Thread(ctx, key)
	if err != nil {
		return fmt.Errorf("thread %q: %w", key.Thread, err)
	}
	if !t.DeletedAt.IsZero() {
		return fmt.Errorf("thread %q: %w", key.Thread, store.ErrDeleted)
	}
	if after < 0 || after > t.Last {
		return fmt.Errorf("thread %q has no position %d: its last is %d", key.Thread, after, t.Last)
	}
	// The seals that exist now are at most of the entries that are read below.
	firstSeal := max(after, 1)
	schema := Schema
	if t.Sealed >= firstSeal {
		schema = SealedSchema
	}
	out, err := newEncoder(w, head{schema, key.Thread, after})
	if err != nil {
		return err
	}
	for e, err := range log.Read(ctx, key, after) {
		if err == nil {
			err = out.entry(e)
		}
		if err != nil {
			return err
		}
	}
	last := after + out.tail.Entries
	if schema == SealedSchema {
		if last < t.Sealed {
			return fmt.Errorf("thread %q has the seal of %d entries, but only %d could be read: %w", key.Thread, t.Sealed, last, store.ErrRewound)
		}
		if err := out.sealsOf(ctx, log, key, firstSeal, last); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	row.Entries, row.Last, row.Seals, row.Bytes, row.Digest = &out.tail.Entries, &last, &out.seals, &out.size, &out.tail.Digest
	return nil
}

// sealsOf writes the seals of a thread whose sizes are in a range. It has one, at least.
func (e *encoder) sealsOf(ctx context.Context, log store.Log, key store.Key, first, last int64) error {
	for s, err := range log.Seals(ctx, key, first-1) {
		if err != nil {
			return err
		}
		if s.Size > last { // it was made meanwhile
			break
		}
		if err := e.seal(s); err != nil {
			return err
		}
	}
	if e.seals == 0 { // a deleted thread keeps only its last seal
		return fmt.Errorf("thread %q: %w", key.Thread, store.ErrDeleted)
	}
	return nil
}
