package freeze

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

// publisher writes the files of frozen runs. It keeps some of the directories open that
// it has written to. The zero value is ready to use.
type publisher struct {
	mu         sync.Mutex
	open       map[string]*directory
	used       int    // number of uses of all directories
	existsHint string // the next step if a file exists with other content, or empty
	publishing func(durable, frozen int)
	sign       *sign.Settings // or nil
	runs       atomic.Int64   // whose files are to be written
	durable    atomic.Int64   // of them, those whose files were written, or that failed
}

// maxDirectories is the number of directories from which on a publisher closes those that
// it does not need.
const maxDirectories = 64

// openDirectories returns maxDirectories, or less if the program may have few open files.
func openDirectories() int { return min(maxDirectories, atomicfile.MaxOpen()/16) }

// directory is an open directory of a publisher.
type directory struct {
	*atomicfile.Directory
	sets int // sets that were not committed yet
	used int // publisher.used when it was last used
}

// written is the files of a run on their way to their names.
type written struct {
	row  *Row
	set  *atomicfile.Set
	in   *directory
	path string // of the files, without suffix
	// signed and stamped report whether there are a signature and a time-stamp.
	signed, stamped bool
}

// The limits of a group of files that are made durable together.
const (
	maxGroupCaptures = 100
	maxGroupFiles    = 400 // open files and directories
	maxGroupBytes    = 16 << 20
)

// reservedOpen is the number of open files that two groups at a time leave for other
// purposes, for example for the captures.
const reservedOpen = 256

// groupFiles returns the number of open files and directories from which on a group is full.
func groupFiles() int { return min(maxGroupFiles, max(1, (atomicfile.MaxOpen()-reservedOpen)/2)) }

// group is a number of runs whose files are made durable together.
type group struct {
	runs  []*written
	files int // that are open, and directories
	bytes int
	limit int       // for files
	done  []*result // the captures whose last run is in the group
}

func newGroup() *group { return &group{limit: groupFiles()} }

func (g *group) add(w *written) {
	if w != nil {
		if len(g.runs) == 0 || g.runs[len(g.runs)-1].in != w.in {
			g.files++ // the directory, even if there are no files to write
		}
		g.runs = append(g.runs, w)
		g.files += w.set.Files()
		g.bytes += w.set.Size()
	}
}

// isFull reports whether the group should be committed before anything is added.
func (g *group) isFull() bool {
	return len(g.done) >= maxGroupCaptures || len(g.runs) >= maxGroupCaptures || g.files >= g.limit || g.bytes >= maxGroupBytes
}

// publish writes the files of the frozen runs of one capture to dir, and updates their
// rows.
func (p *publisher) publish(ctx context.Context, dir string, rows []Row, files *staging) {
	p.begin(rows)
	g := newGroup()
	for i := range rows {
		g.add(p.prepare(ctx, dir, &rows[i], files))
		if g.isFull() || i == len(rows)-1 {
			p.commit(ctx, g)
			g = newGroup()
		}
	}
}

// begin counts the frozen runs of a capture whose files will be written.
func (p *publisher) begin(rows []Row) {
	for i := range rows {
		if rows[i].Verdict == project.Frozen {
			p.runs.Add(1)
		}
	}
	p.progress()
}

// progress calls publishing.
func (p *publisher) progress() {
	if p.publishing != nil {
		p.publishing(int(p.durable.Load()), int(p.runs.Load()))
	}
}

// prepare writes the files of a run without names. It returns nil if the run has no
// files, or if they cannot be written, which the row then reports. The files of a
// skipped run exist, but may not be durable.
func (p *publisher) prepare(ctx context.Context, dir string, row *Row, files *staging) *written {
	var write []atomicfile.File
	w := &written{row: row}
	err := context.Cause(ctx)
	switch {
	case row.Verdict == project.Skipped:
		w.path = strings.TrimSuffix(*row.Record, record.Suffix)
	case row.Verdict != project.Frozen:
		return nil
	case err == nil:
		name := files.runs[*row.Run].name
		w.path = filepath.Join(dir, name)
		var data Files
		if data, err = files.take(*row.Run); err == nil {
			write, err = p.files(ctx, w, data)
		}
	}
	if err == nil {
		w.in, err = p.directory(dir)
	}
	if err != nil {
		fault, _ := finding.FromError(err)
		row.fail(fault)
		return nil
	}
	w.set = w.in.Prepare(write...)
	return w
}

// files returns the files of a run, and sets whether it is signed. The record is the last: it
// exists only if all others do.
func (p *publisher) files(ctx context.Context, w *written, data Files) ([]atomicfile.File, error) {
	path, name := w.path, filepath.Base(w.path)
	list := []atomicfile.File{
		{Name: name + record.ArtifactSuffix, Data: data.Artifact, Same: atomicfile.Equal},
		{Name: name + record.EnvelopeSuffix, Data: data.Envelope, Same: atomicfile.Equal},
	}
	stated := atomicfile.File{Name: name + record.Suffix, Data: data.Record, Same: sameRecord} // keep a record that differs in the tool version only
	if p.sign != nil {
		var err error
		if stated.Data, err = keptRecord(path+record.Suffix, data.Record); err != nil {
			return nil, err
		}
		stated.Same = atomicfile.Equal // it is what was signed
		existing, err := sign.Read(path+record.Suffix, len(stated.Data), record.ReadBounded)
		if err != nil {
			return nil, err
		}
		made, err := p.sign.Make(ctx, stated.Data, existing)
		if err != nil {
			return nil, err
		}
		if made.NewEnvelope && existing.Envelope != nil {
			return nil, finding.New(finding.OutputExists, "%s exists, and is not signed with all of these keys", finding.Quote(name+record.SignatureSuffix)).WithHint(hint.AddSignature)
		}
		list = append(list, atomicfile.File{Name: name + record.SignatureSuffix, Data: made.Envelope, Same: atomicfile.Equal})
		w.signed = true
		if made.Token != nil {
			list = append(list, atomicfile.File{Name: name + record.TimestampSuffix, Data: made.Token, Same: atomicfile.Equal})
			w.stamped = true
		}
	}
	return append(list, stated), nil
}

// keptRecord returns the record at path if it differs from the given one only in the tool
// version, which must be one that a program can have, and otherwise the given one.
func keptRecord(path string, data []byte) ([]byte, error) {
	there, stated, err := record.ReadFrom(path, record.ReadBounded)
	if malformed, ok := errors.AsType[finding.Finding](err); errors.Is(err, fs.ErrNotExist) || ok && malformed.Code == finding.RecordMalformed {
		return data, nil // another file is refused when the run is written
	}
	if err != nil || !isVersion(there.Predicate.Tool.Version) {
		return data, err
	}
	own, err := record.Decode(data)
	if err != nil {
		return nil, err
	}
	if same, err := there.EqualExceptTool(own); same || err != nil {
		return stated, err
	}
	return data, nil
}

// isVersion reports whether a text looks like the version of a program. It is the only text of
// a record that verify does not compare.
func isVersion(s string) bool {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_"
	return !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(letters, r) })
}

// directory returns the open directory for a set of files.
func (p *publisher) directory(dir string) (*directory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.open[dir]
	if d == nil {
		if err := capture.CheckOutside(dir); err != nil {
			return nil, err
		}
		p.makeRoom()
		opened, err := atomicfile.CreateDirectory(dir)
		if err != nil {
			return nil, err
		}
		d = &directory{Directory: opened}
		p.open[dir] = d
	}
	p.used++
	d.sets, d.used = d.sets+1, p.used
	return d, nil
}

// makeRoom closes the directories that were not needed for the longest time, as long as too
// many are open.
func (p *publisher) makeRoom() {
	if p.open == nil {
		p.open = make(map[string]*directory)
	}
	for len(p.open) >= openDirectories() {
		oldest := ""
		for name, d := range p.open {
			if d.sets == 0 && (oldest == "" || d.used < p.open[oldest].used) {
				oldest = name
			}
		}
		if oldest == "" {
			return
		}
		p.open[oldest].Close()
		delete(p.open, oldest)
	}
}

// commit makes the files of a group durable and updates the rows of the runs.
func (p *publisher) commit(ctx context.Context, g *group) {
	sets := make([]*atomicfile.Set, len(g.runs))
	for i, w := range g.runs {
		sets[i] = w.set
	}
	// A directory may have become a capture directory in the meantime.
	atomicfile.Commit(ctx, capture.CheckOutside, sets...)
	for _, w := range g.runs {
		if w.row.Verdict == project.Frozen {
			p.durable.Add(1)
		}
		p.release(w.in)
		err := w.set.Err
		if _, unsynced := errors.AsType[*atomicfile.UnsyncedError](err); err == nil || unsynced {
			w.row.setPaths(w.path)
			if w.signed {
				w.row.Signature = new(w.path + record.SignatureSuffix)
			}
			if w.stamped {
				w.row.Timestamp = new(w.path + record.TimestampSuffix)
			}
			for _, name := range w.set.Left {
				w.row.Findings = append(w.row.Findings, finding.Leftover(name))
			}
		}
		if err != nil {
			w.row.fail(p.fault(err))
		}
	}
	p.progress()
}

// release marks the use of a directory for a set of files as ended.
func (p *publisher) release(d *directory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.sets--
}

// fault returns the finding for the error of a set of files.
func (p *publisher) fault(err error) finding.Finding {
	if !errors.Is(err, fs.ErrExist) {
		fault, _ := finding.FromError(err)
		return fault
	}
	fault := finding.New(finding.OutputExists, "%s", finding.Escape(err.Error()))
	if p.existsHint != "" {
		fault = fault.WithHint("%s", p.existsHint)
	}
	return fault
}

// close closes the directories. It removes those that it created and that are empty.
func (p *publisher) close() {
	for _, d := range p.open {
		d.Close()
	}
}

// setPaths sets the paths of the files of a run.
func (r *Row) setPaths(path string) {
	with := func(suffix string) *string { path := path + suffix; return &path }
	r.Artifact, r.Envelope, r.Record = with(record.ArtifactSuffix), with(record.EnvelopeSuffix), with(record.Suffix)
}
