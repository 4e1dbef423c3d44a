package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// Row is the outcome of signing one record.
type Row struct {
	// Record is the path of the record.
	Record string `json:"record"`
	// Verdict is written, skipped if the record had these signatures and a token, or
	// refused or error.
	Verdict project.Verdict `json:"verdict"`
	// Signature is the path of the DSSE envelope.
	Signature *string `json:"signature"`
	// Timestamp is the path of the time-stamp response.
	Timestamp *string `json:"timestamp"`
	// KeyIDs are those of the keys that were given, whose signatures the record has.
	KeyIDs []string `json:"key_ids"`
	// NotLaterThan is the time of the token. It is not verified: no authority is trusted
	// when a record is signed.
	NotLaterThan *string           `json:"not_later_than"`
	Findings     []finding.Finding `json:"findings"`
}

// Records signs the records at paths, and adds tokens if the settings name an authority. It
// returns the rows in the order of the paths, when their files are durable. The two files of
// a record are written completely or not at all; the record is only read. The sequence ends
// when ctx does; what was signed until then is written.
func Records(ctx context.Context, paths []string, s *Settings) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		g := &group{settings: s}
		defer g.close()
		for _, path := range paths {
			if ctx.Err() != nil {
				break
			}
			if g.isFull(filepath.Dir(path)) && !g.flush(ctx, yield) {
				return
			}
			g.add(ctx, path)
		}
		g.flush(ctx, yield)
	}
}

// The limits of a group of records of one directory whose signatures are made durable together.
const (
	maxGroup    = 64
	maxGroupAge = time.Second
)

// group is a number of records whose signatures are written, but have no names.
type group struct {
	settings *Settings
	dir      string
	open     *atomicfile.Directory // nil until a file is written
	began    time.Time
	rows     []*Row
	sets     []*atomicfile.Set // of each row, or nil if it failed
}

// isFull reports whether the group must be flushed before a record of a directory is added.
func (g *group) isFull(dir string) bool {
	return len(g.rows) > 0 && (dir != g.dir || len(g.rows) == maxGroup || time.Since(g.began) >= maxGroupAge)
}

// add signs a record.
func (g *group) add(ctx context.Context, path string) {
	if dir := filepath.Dir(path); dir != g.dir {
		g.close()
		g.dir = dir
	}
	if len(g.rows) == 0 {
		g.began = time.Now()
	}
	row := &Row{Record: path, KeyIDs: []string{}, Findings: []finding.Finding{}}
	set, err := g.sign(ctx, row)
	if err != nil {
		row.fail(err)
	}
	g.rows, g.sets = append(g.rows, row), append(g.sets, set)
}

// fail sets the outcome of an error.
func (row *Row) fail(err error) {
	f, isVerdict := finding.FromError(err)
	if errors.Is(err, fs.ErrExist) {
		f = finding.New(finding.OutputExists, "%s", f.Message).WithHint(hint.SignAgain)
	}
	*row = Row{Record: row.Record, Verdict: project.Failed, KeyIDs: []string{}, Findings: append(row.Findings, f)}
	if isVerdict {
		row.Verdict = project.Refused
	}
}

// sign makes the files of a record and writes those that are new. What another run has
// written is made durable with them.
func (g *group) sign(ctx context.Context, row *Row) (*atomicfile.Set, error) {
	stated, data, err := record.ReadFrom(row.Record, record.ReadBounded)
	if err != nil {
		return nil, err
	}
	if err := checkSubjects(stated, filepath.Dir(row.Record)); err != nil {
		return nil, err
	}
	existing, err := Read(row.Record, len(data), record.ReadBounded)
	if err != nil {
		return nil, err
	}
	made, err := g.settings.Make(ctx, data, existing)
	if err != nil {
		return nil, err
	}
	row.Verdict, row.KeyIDs = project.Skipped, append(row.KeyIDs, made.KeyIDs...)
	row.Signature = new(record.SignaturePath(row.Record))
	if made.Token != nil {
		row.Timestamp = new(record.TimestampPath(row.Record))
		row.NotLaterThan = new(artifact.FormatTime(ceil(made.NotLaterThan)))
	}
	if made.NewEnvelope || made.NewToken {
		row.Verdict = project.Written
	}
	if g.open == nil {
		if g.open, err = atomicfile.OpenDirectory(g.dir); err != nil {
			return nil, err
		}
	}
	return g.write(ctx, row, made, existing)
}

// checkSubjects returns an error if the artifact or the envelope in a directory is not the one
// that the record states. They may be elsewhere.
func checkSubjects(r *record.Record, dir string) error {
	for _, s := range r.Subject {
		if s.Name != filepath.Base(s.Name) {
			continue // verify refuses the record
		}
		sum, err := digestOf(filepath.Join(dir, s.Name))
		switch {
		case isAbsent(err):
		case err != nil:
			return err
		case sum.Hex() != s.Digest.SHA256:
			return finding.New(finding.RecordOfAnother, "%s is not the file that the record states: the digest differs", finding.Quote(s.Name))
		}
	}
	return nil
}

// digestOf returns the digest of a regular file.
func digestOf(path string) (digest.Digest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.Read(f)
}

// write writes the new files of a signature without names. An envelope with more signatures
// takes the place of the old one at once.
func (g *group) write(ctx context.Context, row *Row, made Made, existing Files) (*atomicfile.Set, error) {
	signature := atomicfile.File{Name: filepath.Base(*row.Signature), Data: made.Envelope, Same: atomicfile.Equal}
	var files []atomicfile.File
	switch {
	case made.NewToken:
		// The token is over these bytes of the envelope. They get names together.
		files = append(files, signature, atomicfile.File{Name: filepath.Base(*row.Timestamp), Data: made.Token, Same: atomicfile.Equal})
	case made.NewEnvelope:
		files = append(files, signature)
	}
	if made.NewEnvelope && existing.Envelope != nil {
		if err := g.replace(ctx, signature, existing, filepath.Base(record.TimestampPath(row.Record))); err != nil {
			return nil, err
		}
	}
	return g.open.Prepare(files...), nil
}

// flush makes the files of the group durable and yields its rows.
func (g *group) flush(ctx context.Context, yield func(Row) bool) bool {
	var sets []*atomicfile.Set
	for _, set := range g.sets {
		if set != nil {
			sets = append(sets, set)
		}
	}
	// What was signed is written even if ctx has ended.
	atomicfile.Commit(context.WithoutCancel(ctx), capture.CheckOutside, sets...)
	more := true
	for i, row := range g.rows {
		if set := g.sets[i]; set != nil {
			for _, name := range set.Left {
				row.Findings = append(row.Findings, finding.Leftover(name))
			}
			if set.Err != nil {
				row.fail(set.Err)
			}
		}
		more = more && yield(*row)
	}
	g.rows, g.sets = nil, nil
	return more
}

// close closes the directory. The group must have been flushed.
func (g *group) close() {
	g.open.Close()
	g.open = nil
}

// replace replaces a DSSE envelope by one with more signatures, unless another program has
// changed it, or has added the time-stamp with the given name.
func (g *group) replace(ctx context.Context, f atomicfile.File, before Files, stamp string) error {
	staged, err := g.open.CreateReplacement(f.Name, func(w io.Writer) error {
		_, err := w.Write(f.Data)
		return err
	})
	if err != nil {
		return err
	}
	defer staged.Discard()
	unchanged := func(there, _ *io.SectionReader) (bool, error) {
		if _, err := os.Lstat(filepath.Join(g.dir, stamp)); !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		now, err := io.ReadAll(there)
		return bytes.Equal(now, before.Envelope), err
	}
	return g.open.Replace(ctx, atomicfile.Named{Staged: staged, Name: f.Name, Same: atomicfile.Equal}, unchanged)
}

// Find returns the paths of records, with each directory replaced by the records in it and
// below it, in the order of their paths, and each path once. It does not follow symbolic links
// in a directory.
func Find(ctx context.Context, paths []string) ([]string, error) {
	var all []string
	seen := make(map[string]bool)
	add := func(path string) {
		if path = filepath.Clean(path); !seen[path] {
			seen[path] = true
			all = append(all, path)
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			add(path) // errors are reported when it is read
			continue
		}
		found, err := dirtree.Named(ctx, path, record.Suffix)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			add(one)
		}
	}
	return all, nil
}
