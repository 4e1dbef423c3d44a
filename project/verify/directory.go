package verify

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// TreeRow is the outcome for one record of a directory, or for something in it
// that no record is about. What a row has not is nil.
type TreeRow struct {
	Artifact   *string             `json:"artifact"`
	Record     *string             `json:"record"`
	Capture    *string             `json:"capture"`
	Verdict    project.Verdict     `json:"verdict"`
	Origin     *project.Origin     `json:"origin"`
	TimeSource *project.TimeSource `json:"time_source"`
	Findings   []finding.Finding   `json:"findings"`
	// File is what the row is about when it is none of the three.
	File *string `json:"file"`

	// FromRequest says that a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
}

// TreeSettings say how a directory is verified.
type TreeSettings struct {
	// Captures are captures outside the directory, or directories of them.
	Captures []string
	// CapturesOnly says that captures alone are looked for and checked. Everything
	// else in the directory is unexplained then, records included.
	CapturesOnly bool
	// Strict makes an error of anything unexplained.
	Strict   bool
	Progress scan.Progress
}

// Tree verifies every record in a directory and below it, each with the
// artifact and envelope beside it and the capture it states, and accounts for
// everything else there. Each capture is read once, however many records were made
// from it. Rows come as they are known: first the records, then
// the captures no record was made from, then the rest, each by path. When nothing
// was verified and no row is a failure, the last row says that. After the context
// ends no further row comes.
func Tree(ctx context.Context, dir string, s TreeSettings) iter.Seq[TreeRow] {
	return verifyTree(ctx, dir, s, limits{entries: dirtree.MaxEntries, findings: maxFindings})
}

// limits bound what the verification of a directory takes.
type limits struct {
	entries  int // of each tree
	findings int // in memory
}

// verifyTree is Tree with limits.
func verifyTree(ctx context.Context, dir string, s TreeSettings, most limits) iter.Seq[TreeRow] {
	return func(yield func(TreeRow) bool) {
		v := &treeVerifier{settings: s, sources: newSources(), shelf: &shelf{most: most.findings}, limit: most.entries}
		defer v.shelf.close()
		v.tell = func(row TreeRow) bool {
			if row.Findings == nil {
				row.Findings = []finding.Finding{}
			}
			v.settled = v.settled || s.settles(row)
			return yield(row) && ctx.Err() == nil
		}
		if v.load(ctx, dir) && (s.CapturesOnly || v.records(ctx)) && v.captures(ctx) && v.rest() && !v.settled {
			v.tell(rowOf(TreeRow{File: &dir}, v.nothing(dir)))
		}
	}
}

// treeVerifier verifies one directory. Its methods that return a bool return
// false when there is nothing more to be done.
type treeVerifier struct {
	settings TreeSettings
	tree     *tree
	sources  *sources
	limit    int
	evidence bool // there is something to verify
	settled  bool // some row gives the directory its verdict
	tell     func(TreeRow) bool

	shelf   *shelf
	stated  []*stated
	waiting map[key][]*stated // for a capture, until it is read for the first of them
}

// load looks at the directory and at the captures given beside it.
func (v *treeVerifier) load(ctx context.Context, dir string) bool {
	t, err := walk(ctx, dir, v.limit)
	if err != nil {
		v.tell(failedRow(TreeRow{File: &dir}, err))
		return false
	}
	v.tree = t
	v.sources.add(t, true)
	for _, path := range v.settings.Captures {
		if err := v.give(ctx, path); err != nil && !v.tell(failedRow(TreeRow{Capture: &path}, err)) {
			return false
		}
	}
	return true
}

// give takes in a capture outside the directory, or a directory of captures.
func (v *treeVerifier) give(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		t, err := walk(ctx, path, v.limit)
		if err == nil {
			v.sources.add(t, false)
		}
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file and no directory", path)
	}
	v.sources.addFile(&entry{Entry: &dirtree.Entry{Name: path, Mode: info.Mode(), Size: info.Size()}}, false)
	return nil
}

// stated is a record with what lies beside it.
type stated struct {
	claim
	early error // why it is not verified from any capture
	tree  TreeRow
	found *shelved // the findings of the row
	done  bool     // tree is the outcome
}

// key is what a record states of its capture: the digest of its manifest, or the
// size of the plain file. Records of one key are verified together.
type key struct {
	manifest digest.Digest
	size     int64
}

// records verifies every record, in the order of their paths. All are read first,
// to know which of them are of one capture.
func (v *treeVerifier) records(ctx context.Context) bool {
	v.waiting = make(map[key][]*stated)
	for _, e := range v.tree.entries {
		if _, ok := e.CutSuffix(record.Suffix); ok && e.regular() {
			if ctx.Err() != nil {
				return false
			}
			v.evidence = true
			e.told = true
			v.stated = append(v.stated, v.read(e))
		}
	}
	for i, r := range v.stated {
		v.stated[i] = nil // which nobody needs once its row is told
		if !r.done {
			v.verify(ctx, r.key())
		}
		if r.found != nil {
			found, err := v.shelf.look(r.found)
			if r.tree.Findings = found; err != nil {
				r.end(err)
			}
			v.shelf.take(r.found)
		}
		if !v.tell(r.tree) {
			return false
		}
	}
	return true
}

func (r *stated) key() key {
	if m := r.source.ManifestDigest; m != "" {
		return key{manifest: m}
	}
	return key{size: r.source.Bytes}
}

// end gives the outcome where an error ended it.
func (r *stated) end(err error) { r.tree, r.done = rowOf(r.tree, err), true }

// read reads one record, and finds what lies beside it.
func (v *treeVerifier) read(e *entry) *stated {
	r := &stated{tree: TreeRow{Record: new(e.Path())}}
	what, err := record.Read(e.Path())
	if err != nil {
		stem, _ := e.CutSuffix(record.Suffix)
		r.tree.Artifact = e.in.take(stem+record.ArtifactSuffix, record.ArtifactSuffix)
		e.in.take(stem+record.EnvelopeSuffix, record.EnvelopeSuffix)
		r.end(err)
		return r
	}
	artifactName, envelopeName := what.Subject[0].Name, what.Subject[1].Name
	r.tree.Artifact = e.in.take(artifactName, record.ArtifactSuffix)
	e.in.take(envelopeName, record.EnvelopeSuffix)
	r.name = artifactName
	unstated := r.state(what)
	r.tree.Origin, r.tree.TimeSource, r.tree.FromRequest = r.origin, r.timeSource, r.requested
	if err := lacking(e.in, artifactName); err != nil {
		r.end(err)
		return r
	}
	r.load = func() ([]byte, *record.Record, error) { return r.reload(e.Path()) }
	r.envelope = envelopeBeside(*r.tree.Artifact)
	if _, r.early = readArtifact(*r.tree.Artifact); r.early == nil {
		r.early = unstated
	}
	v.waiting[r.key()] = append(v.waiting[r.key()], r)
	return r
}

// reload reads the files again when their run was read: until then only what the
// record states is held.
func (r *stated) reload(path string) ([]byte, *record.Record, error) {
	given, err := readArtifact(*r.tree.Artifact)
	if err != nil {
		return nil, nil, err
	}
	again, err := record.Read(path)
	if err != nil {
		return nil, nil, err
	}
	if settings, err := again.Settings(); err != nil || settings != r.settings || again.Predicate.Capture != r.source {
		return nil, nil, finding.New(finding.IOFailed, "%s changed while it was verified", finding.Escape(path)).WithHint("wait until it is whole, and verify the directory again")
	}
	return given, again, nil
}

// take accounts for a file that a record names, and returns its path. A record
// can name no other than an artifact and an envelope beside it.
func (f *folder) take(name, suffix string) *string {
	e := f.regular(name)
	if e == nil {
		return nil
	}
	if _, ok := e.CutSuffix(suffix); !ok {
		return nil
	}
	e.told = true
	return new(e.Path())
}

// lacking says what a record lacks beside it to be verified. An envelope may be
// absent; it may not be something that is not read.
func lacking(f *folder, artifactName string) error {
	stem, named := strings.CutSuffix(artifactName, record.ArtifactSuffix)
	envelopeName := stem + record.EnvelopeSuffix
	a, env := f.held[artifactName], f.held[envelopeName]
	switch {
	case a == nil:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is not beside it", finding.Quote(artifactName))
	case !named:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is no *%s", finding.Quote(artifactName), record.ArtifactSuffix)
	case !a.regular():
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is %s", finding.Quote(artifactName), a.Kind())
	case env != nil && !env.regular():
		return finding.New(finding.EnvelopeAbsent, "%s beside the record is %s", finding.Quote(envelopeName), env.Kind()).
			WithSeverity(finding.Error).WithHint("put the envelope itself there, or nothing")
	}
	return nil
}

// verify verifies all records of a key.
func (v *treeVerifier) verify(ctx context.Context, k key) {
	records := v.waiting[k]
	delete(v.waiting, k)
	if k.manifest != "" {
		v.settle(ctx, records, v.sources.byManifest[k.manifest])
		return
	}
	if groups := v.sources.loose(k.size); len(groups) > 0 && len(groups[0]) == 1 && v.sources.plain[k.size] == nil {
		// Its digest comes with the one reading of it.
		v.first(ctx, records, groups[0][0])
	}
	byDigest := make(map[digest.Digest][]*stated)
	for _, r := range records {
		byDigest[r.source.Digest] = append(byDigest[r.source.Digest], r)
	}
	for _, r := range records {
		if r.done {
			continue
		}
		candidates, err := v.sources.withBytes(ctx, k.size, r.source.Digest)
		if err != nil {
			r.end(err)
			continue
		}
		v.settle(ctx, byDigest[r.source.Digest], candidates)
	}
}

// first verifies records from the only file to look at first. Those that state
// another digest than it has are left.
func (v *treeVerifier) first(ctx context.Context, records []*stated, e *entry) {
	result, err := v.try(ctx, e.Path(), records)
	switch {
	case ctx.Err() != nil || result == nil && err == nil:
	case err != nil:
		v.sources.summed(e, "", err)
	default:
		s := v.sources.summed(e, result.Digest, nil)
		for _, r := range records {
			if r.source.Digest == result.Digest {
				v.conclude(ctx, r, s)
			}
		}
	}
}

// try verifies the records that need it against the capture of that path, in one
// reading. The result is nil when none needed it, or when it could not be opened.
func (v *treeVerifier) try(ctx context.Context, path string, records []*stated) (*scan.Result, error) {
	var claims []*claim
	for _, r := range records {
		if !r.done && r.early == nil {
			v.shelf.take(r.compared)
			r.reset()
			claims = append(claims, &r.claim)
		}
	}
	if claims == nil {
		return nil, nil
	}
	var result *scan.Result
	for len(claims) > 0 {
		now, later := together(claims)
		again, err := v.readOnce(ctx, path, now)
		if err != nil {
			for _, one := range later {
				one.err = differing(err)
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

// readOnce verifies claims in one reading of the capture of that path.
func (v *treeVerifier) readOnce(ctx context.Context, path string, claims []*claim) (*scan.Result, error) {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		for _, one := range claims {
			one.err = differing(err)
		}
		return nil, err
	}
	defer c.Close()
	return against(ctx, c, claims, v.shelf, v.settings.Progress)
}

// maxSnapshots is how many snapshots of one run are kept for one reading. Each can
// be as long as an event.
const maxSnapshots = 4

// together divides claims into those that one reading serves and those that wait
// for another, as the records of a run name more of its snapshots than are kept.
func together(claims []*claim) (now, later []*claim) {
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

// settle gives every record its outcome: from the first of the captures that is
// whole. When none is, the row says what is wrong with the first.
func (v *treeVerifier) settle(ctx context.Context, records []*stated, candidates []*source) {
	if len(candidates) == 0 {
		for _, r := range records {
			r.end(v.sources.absent(r.source, "here"))
		}
		return
	}
	for _, s := range candidates {
		if s.bad != nil {
			continue
		}
		result, err := v.try(ctx, s.path, records)
		if result != nil && ctx.Err() == nil {
			s.read, s.bad = true, err
		}
		for _, r := range records {
			if r.done || elsewhere(r.outcome(v.shelf)) && s.check(ctx, v.settings.Progress) != nil {
				continue
			}
			v.conclude(ctx, r, s)
		}
	}
	for _, r := range records {
		if !r.done {
			s := candidates[0]
			s.use()
			r.tree.Capture = &s.path
			r.end(differing(s.bad))
		}
	}
}

// outcome is what a record came to, against the capture it was tried with.
func (r *stated) outcome(shelf *shelf) Row {
	if r.early != nil {
		return Row{}.judged(nil, r.early)
	}
	return r.row(Row{}, shelf)
}

// conclude gives a record its outcome, from a capture. What is wrong with a
// capture that the record was not tried with is said all the same.
func (v *treeVerifier) conclude(ctx context.Context, r *stated, s *source) {
	s.use()
	row := r.outcome(v.shelf)
	if !r.read && ctx.Err() == nil {
		v.unread(ctx, s, &row)
	}
	v.shelf.take(r.compared)
	r.tree.Capture, r.tree.Verdict, r.done = &s.path, row.Verdict, true
	r.whole, r.compared, r.found = nil, nil, v.shelf.put(row.Findings)
}

// unread adds to a row what is wrong with its capture, which was not read for it.
func (v *treeVerifier) unread(ctx context.Context, s *source, row *Row) {
	err := s.check(ctx, v.settings.Progress)
	if err == nil {
		return
	}
	f, verdict := unverified(differing(err))
	if row.Verdict == project.Unverifiable {
		row.Verdict = verdict
	}
	if !finding.Has(row.Findings, f.Code) {
		row.Findings = append(row.Findings, f)
		finding.Sort(row.Findings)
	}
}

// use marks a capture as named by a row.
func (s *source) use() {
	s.used = true
	if s.file != nil {
		s.file.told = true
	}
}
