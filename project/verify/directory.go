package verify

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/internal/tarfs"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/sign"
)

// TreeRow is the outcome for one record of a directory, or for another file or capture
// in it. Fields that do not apply are nil.
type TreeRow struct {
	Artifact   *string             `json:"artifact"`
	Record     *string             `json:"record"`
	Capture    *string             `json:"capture"`
	Verdict    project.Verdict     `json:"verdict"`
	Origin     *project.Origin     `json:"origin"`
	TimeSource *project.TimeSource `json:"time_source"`
	Findings   []finding.Finding   `json:"findings"`
	// File is the path if the row is not about an artifact, record or capture.
	File *string `json:"file"`
	// Signature is what the signatures of the record are worth, if keys are trusted.
	Signature *sign.Signature `json:"signature"`

	// FromRequest reports whether a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
	// Source is the run that the record states.
	Source record.Source `json:"-"`
}

// TreeSettings configure the verification of a directory.
type TreeSettings struct {
	// Captures are paths of captures, or of directories with captures, outside the
	// directory.
	Captures []string
	// CapturesOnly means that only captures are checked. All other files in the
	// directory, including records, are unexplained.
	CapturesOnly bool
	// Strict makes unexplained files errors.
	Strict bool
	// Signed says what is demanded of the signatures of records. If it is nil, only
	// their form is checked, and that they are of their records.
	Signed *sign.Policy
	// Jobs is the maximum number of captures that are read at the same time. It does
	// not affect the rows. The default is 1.
	Jobs int
	// Expect is called once with the number of records in the directory, or with that
	// of captures if only captures are checked, before the first row about one of
	// them. It may be nil.
	Expect func(rows int)
	// Read is called while captures are read, with the number of bytes since its last
	// call. Several goroutines call it if there are several jobs. It may be nil.
	Read func(bytes int64)
}

// progress returns the progress of reading one capture, which calls Read.
func (s *TreeSettings) progress() scan.Progress {
	if s.Read == nil {
		return nil
	}
	var before int64
	return func(read int64) {
		s.Read(read - before)
		before = read
	}
}

// Tree verifies every record in a directory and its subdirectories. It compares the
// record, and the artifact and envelope next to it, with the capture that the record
// states. It also returns a row for every other file. Each capture is read once, even
// if it has many records.
//
// The sequence has the rows for the records first, then those for captures without a
// record, then those for all other files, each sorted by path. If nothing was verified
// and no row is a failure, the last row reports that. The sequence stops when the
// context ends.
func Tree(ctx context.Context, dir string, s TreeSettings) iter.Seq[TreeRow] {
	return verifyTree(ctx, dir, s, limits{entries: MaxEntries, findings: maxFindings})
}

// MaxEntries is the maximum number of files and directories in a directory that is
// verified or searched. It bounds the memory: a file needs about half a kilobyte.
const MaxEntries = 1_000_000

// limits bound the memory for verifying a directory.
type limits struct {
	entries  int // of each tree
	findings int // in memory
}

// verifyTree is like Tree, but with the given limits.
func verifyTree(ctx context.Context, dir string, s TreeSettings, most limits) iter.Seq[TreeRow] {
	return func(yield func(TreeRow) bool) {
		v, end := newTreeVerifier(ctx, s, most, yield)
		defer end()
		t, err := walk(v.ctx, dir, most.entries)
		if err != nil {
			v.emit(failedRow(TreeRow{File: &dir}, err))
			return
		}
		v.verifyAll(dir, t)
	}
}

// Archive is like Tree for the members of the tar archive r, which may be compressed with
// gzip or zstd. The paths in the rows are the names of members, except for that of the
// whole archive, which is name. The members are kept in a temporary file without a name.
//
// The rows of members that are refused, such as links, come first. If the archive cannot
// be read to its end, nothing is verified.
func Archive(ctx context.Context, r io.Reader, name string, s TreeSettings) iter.Seq[TreeRow] {
	return func(yield func(TreeRow) bool) {
		v, end := newTreeVerifier(ctx, s, limits{entries: MaxEntries, findings: maxFindings}, yield)
		defer end()
		members, err := tarfs.New(v.ctx, r, name, nil, func(name string, why error) bool { return v.emit(failedRow(TreeRow{File: &name}, why)) })
		if err != nil {
			v.emit(failedRow(TreeRow{File: &name}, err))
		}
		if members == nil {
			return
		}
		defer members.Close()
		t, err := newTree(members.Each(), archived{members})
		if err != nil {
			v.emit(failedRow(TreeRow{File: &name}, err))
			return
		}
		v.verifyAll(name, t)
	}
}

// treeVerifier verifies one directory. Its methods return false if the verification
// must stop.
type treeVerifier struct {
	ctx      context.Context // ends when no more rows are needed
	settings TreeSettings
	tree     *tree
	sources  *sources
	limit    int
	evidence bool // the directory contains something to verify
	decided  bool // some row determines the verdict on the directory
	emit     func(TreeRow) bool
	store    *findingStore
}

// newTreeVerifier returns a verifier that passes its rows to yield. The function end must
// be called at the end.
func newTreeVerifier(ctx context.Context, s TreeSettings, most limits, yield func(TreeRow) bool) (v *treeVerifier, end func()) {
	v = &treeVerifier{settings: s, sources: newSources(s.Jobs), store: &findingStore{limit: most.findings}, limit: most.entries}
	var cancel context.CancelFunc
	v.ctx, cancel = context.WithCancel(ctx)
	v.emit = func(row TreeRow) bool {
		if row.Findings == nil {
			row.Findings = []finding.Finding{}
		}
		v.decided = v.decided || s.decides(row)
		if yield(row) && ctx.Err() == nil {
			return true
		}
		cancel() // the work on the rows that follow
		return false
	}
	return v, func() { cancel(); v.store.close() }
}

// expect calls Expect of the settings.
func (v *treeVerifier) expect(rows int) {
	if v.settings.Expect != nil {
		v.settings.Expect(rows)
	}
}

// verifyAll emits the rows of a directory.
func (v *treeVerifier) verifyAll(dir string, t *tree) {
	if v.load(t) && (v.settings.CapturesOnly || v.records()) && v.captures() && v.leftovers() && !v.decided {
		v.emit(rowOf(TreeRow{File: &dir}, v.nothingVerified(dir)))
	}
}

// load adds the captures of the directory and the additional captures.
func (v *treeVerifier) load(t *tree) bool {
	v.tree = t
	v.sources.add(v.ctx, t, true)
	if v.ctx.Err() != nil {
		return false
	}
	for _, path := range v.settings.Captures {
		if err := v.addGiven(path); err != nil && !v.emit(failedRow(TreeRow{Capture: &path}, err)) {
			return false
		}
	}
	return true
}

// addGiven adds a capture outside the directory, or a directory of captures.
func (v *treeVerifier) addGiven(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		t, err := walk(v.ctx, path, v.limit)
		if err == nil {
			v.sources.add(v.ctx, t, false)
		}
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a regular file nor a directory", path)
	}
	v.sources.addFile(&entry{name: path, mode: info.Mode(), size: info.Size()}, false)
	return nil
}

// verifyPlain verifies records that state plain files of one size. It tries the file first
// before the others.
func (v *treeVerifier) verifyPlain(records []*recordClaim, first *entry) {
	v.verifyFirst(records, first)
	byDigest := make(map[digest.Digest][]*recordClaim)
	for _, r := range records {
		byDigest[r.source.Digest] = append(byDigest[r.source.Digest], r)
	}
	for _, r := range records {
		if r.done {
			continue
		}
		candidates, err := v.sources.withBytes(v.ctx, first.size, sumOf(r.source.Digest))
		if err != nil {
			r.fail(err)
			continue
		}
		v.settle(byDigest[r.source.Digest], candidates)
	}
}

// verifyFirst verifies records with e, the only first candidate for their capture. It
// skips records that state another digest.
func (v *treeVerifier) verifyFirst(records []*recordClaim, e *entry) {
	group := v.sources.group(e.size)
	result, err := v.try(&source{file: e}, records)
	switch {
	case v.ctx.Err() != nil || result == nil && err == nil:
	case err != nil:
		group.add(e, "", err)
	default:
		s := group.add(e, result.Digest, nil)
		for _, r := range records {
			if r.source.Digest == result.Digest {
				v.setOutcome(r, s)
			}
		}
	}
}

// try verifies the unfinished records with a capture, in one reading. The
// result is nil if there are none, or if the capture cannot be opened.
func (v *treeVerifier) try(s *source, records []*recordClaim) (*scan.Result, error) {
	var claims []*claim
	for _, r := range records {
		if !r.done && r.earlyErr == nil {
			v.store.release(r.compared)
			r.reset()
			claims = append(claims, &r.claim)
		}
	}
	if claims == nil {
		return nil, nil
	}
	var result *scan.Result
	for len(claims) > 0 {
		now, later := splitBySnapshots(claims)
		again, err := v.readOnce(s, now)
		if err != nil {
			for _, one := range later {
				one.err = asCaptureDiffers(err)
			}
			return again, err
		}
		if again != nil {
			result = again
		}
		claims = later
	}
	return result, nil
}

// readOnce verifies claims in one reading of a capture.
func (v *treeVerifier) readOnce(s *source, claims []*claim) (*scan.Result, error) {
	c, err := s.open(v.ctx)
	if err != nil {
		for _, one := range claims {
			one.err = asCaptureDiffers(err)
		}
		return nil, err
	}
	defer c.Close()
	return verifyClaims(v.ctx, c, claims, v.store, v.settings.progress())
}

// maxSnapshots bounds how many snapshots of one run are kept in memory during one
// reading. Each may be as large as the largest event.
const maxSnapshots = 4

// splitBySnapshots splits claims into those for this reading and those for a later one.
// A later reading is necessary if the records of a run select more than maxSnapshots
// snapshots.
func splitBySnapshots(claims []*claim) (now, later []*claim) {
	kept := make(map[int][]project.Selection)
	for _, one := range claims {
		of := kept[one.source.Run]
		switch s := one.settings.Snapshot; {
		case one.settings.Projection == project.FoldedStream, slices.Contains(of, s):
			now = append(now, one)
		case len(of) < maxSnapshots:
			kept[one.source.Run] = append(of, s)
			now = append(now, one)
		default:
			later = append(later, one)
		}
	}
	return now, later
}

// settle sets the outcome of every record from the first intact capture. If no capture
// is intact, the row has the fault of the first capture.
func (v *treeVerifier) settle(records []*recordClaim, candidates []*source) {
	if len(candidates) == 0 {
		for _, r := range records {
			r.fail(v.sources.notFound(r.source, "here"))
			if r.load == nil {
				r.load = r.reload
			}
			r.compareDigests(&r.tree.Verdict, &r.tree.Findings)
		}
		return
	}
	for _, s := range candidates {
		if s.bad != nil {
			continue
		}
		result, err := v.try(s, records)
		if result != nil && v.ctx.Err() == nil {
			s.read, s.bad = true, err
		}
		for _, r := range records {
			if r.done || shouldTryNext(r.outcome(v.store)) && s.check(v.ctx, v.settings.progress()) != nil {
				continue
			}
			v.setOutcome(r, s)
		}
	}
	for _, r := range records {
		if !r.done {
			s := candidates[0]
			s.markUsed()
			r.tree.Capture = new(s.path())
			r.fail(asCaptureDiffers(s.bad))
		}
	}
}

// outcome returns the outcome of a record with the capture that was tried last.
func (r *recordClaim) outcome(store *findingStore) Row {
	if r.earlyErr != nil {
		return Row{}.withOutcome(nil, r.earlyErr)
	}
	return r.row(Row{}, store)
}

// setOutcome sets the outcome of a record from a capture. It also adds faults of the
// capture if the capture was not read for this record.
func (v *treeVerifier) setOutcome(r *recordClaim, s *source) {
	s.markUsed()
	row := r.outcome(v.store)
	if !r.read && v.ctx.Err() == nil {
		v.addCaptureFault(s, &row)
	}
	v.store.release(r.compared)
	r.tree.Capture, r.tree.Verdict, r.done = new(s.path()), row.Verdict, true
	r.captureFindings, r.compared, r.found = nil, nil, v.store.add(row.Findings)
}

// addCaptureFault checks the capture and adds its fault, if any, to a row.
func (v *treeVerifier) addCaptureFault(s *source, row *Row) {
	err := s.check(v.ctx, v.settings.progress())
	if err == nil {
		return
	}
	f, verdict := outcomeOf(asCaptureDiffers(err))
	if row.Verdict == project.Unverifiable {
		row.Verdict = verdict
	}
	if !finding.Has(row.Findings, f.Code) {
		row.Findings = append(row.Findings, f)
		finding.Sort(row.Findings)
	}
}

// markUsed marks a capture as used in a row.
func (s *source) markUsed() {
	s.used = true
	if s.file != nil {
		s.file.accounted = true
	}
}
