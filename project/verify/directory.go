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

	// FromRequest reports whether a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
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
	Strict   bool
	Progress scan.Progress
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
	return verifyTree(ctx, dir, s, limits{entries: dirtree.MaxEntries, findings: maxFindings})
}

// limits bound the memory for verifying a directory.
type limits struct {
	entries  int // of each tree
	findings int // in memory
}

// verifyTree is like Tree, but with the given limits.
func verifyTree(ctx context.Context, dir string, s TreeSettings, most limits) iter.Seq[TreeRow] {
	return func(yield func(TreeRow) bool) {
		v := &treeVerifier{settings: s, sources: newSources(), store: &findingStore{limit: most.findings}, limit: most.entries}
		defer v.store.close()
		v.emit = func(row TreeRow) bool {
			if row.Findings == nil {
				row.Findings = []finding.Finding{}
			}
			v.decided = v.decided || s.decides(row)
			return yield(row) && ctx.Err() == nil
		}
		if v.load(ctx, dir) && (s.CapturesOnly || v.records(ctx)) && v.captures(ctx) && v.leftovers() && !v.decided {
			v.emit(rowOf(TreeRow{File: &dir}, v.nothingVerified(dir)))
		}
	}
}

// treeVerifier verifies one directory. Its methods return false if the verification
// must stop.
type treeVerifier struct {
	settings TreeSettings
	tree     *tree
	sources  *sources
	limit    int
	evidence bool // the directory contains something to verify
	decided  bool // some row determines the verdict on the directory
	emit     func(TreeRow) bool

	store   *findingStore
	claims  []*recordClaim
	waiting map[key][]*recordClaim // the claims of each capture that has not been read
}

// load lists the directory and the additional captures.
func (v *treeVerifier) load(ctx context.Context, dir string) bool {
	t, err := walk(ctx, dir, v.limit)
	if err != nil {
		v.emit(failedRow(TreeRow{File: &dir}, err))
		return false
	}
	v.tree = t
	v.sources.add(t, true)
	for _, path := range v.settings.Captures {
		if err := v.addGiven(ctx, path); err != nil && !v.emit(failedRow(TreeRow{Capture: &path}, err)) {
			return false
		}
	}
	return true
}

// addGiven adds a capture outside the directory, or a directory of captures.
func (v *treeVerifier) addGiven(ctx context.Context, path string) error {
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
		return fmt.Errorf("%s is neither a regular file nor a directory", path)
	}
	v.sources.addFile(&entry{Entry: &dirtree.Entry{Name: path, Mode: info.Mode(), Size: info.Size()}}, false)
	return nil
}

// recordClaim is the claim of a record in a directory, and its row.
type recordClaim struct {
	claim
	earlyErr error // an error that was found before any capture was read
	tree     TreeRow
	found    *storedFindings // the findings of the row
	done     bool            // tree has the outcome
}

// key identifies the capture that a record states: by the digest of its manifest, or
// by the size of a plain file. Records with the same key are verified together.
type key struct {
	manifest digest.Digest
	size     int64
}

// records verifies every record in the order of their paths. It reads all records
// first to group them by capture.
func (v *treeVerifier) records(ctx context.Context) bool {
	v.waiting = make(map[key][]*recordClaim)
	for _, e := range v.tree.entries {
		if _, ok := e.CutSuffix(record.Suffix); ok && e.regular() {
			if ctx.Err() != nil {
				return false
			}
			v.evidence = true
			e.accounted = true
			v.claims = append(v.claims, v.read(e))
		}
	}
	for i, r := range v.claims {
		v.claims[i] = nil // not needed after its row was emitted
		if !r.done {
			v.verify(ctx, r.key())
		}
		if r.found != nil {
			found, err := v.store.get(r.found)
			if r.tree.Findings = found; err != nil {
				r.fail(err)
			}
			v.store.release(r.found)
		}
		if !v.emit(r.tree) {
			return false
		}
	}
	return true
}

func (r *recordClaim) key() key {
	if m := r.source.ManifestDigest; m != "" {
		return key{manifest: m}
	}
	return key{size: r.source.Bytes}
}

// fail sets an outcome from an error.
func (r *recordClaim) fail(err error) { r.tree, r.done = rowOf(r.tree, err), true }

// read reads one record and finds the files next to it.
func (v *treeVerifier) read(e *entry) *recordClaim {
	r := &recordClaim{tree: TreeRow{Record: new(e.Path())}}
	what, err := record.Read(e.Path())
	if err != nil {
		stem, _ := e.CutSuffix(record.Suffix)
		r.tree.Artifact = e.in.account(stem+record.ArtifactSuffix, record.ArtifactSuffix)
		e.in.account(stem+record.EnvelopeSuffix, record.EnvelopeSuffix)
		r.fail(err)
		return r
	}
	artifactName, envelopeName := what.Subject[0].Name, what.Subject[1].Name
	r.tree.Artifact = e.in.account(artifactName, record.ArtifactSuffix)
	e.in.account(envelopeName, record.EnvelopeSuffix)
	r.name = artifactName
	unstated := r.state(what)
	r.tree.Origin, r.tree.TimeSource, r.tree.FromRequest = r.origin, r.timeSource, r.fromRequest
	if err := checkBeside(e.in, artifactName); err != nil {
		r.fail(err)
		return r
	}
	r.load = func() ([]byte, *record.Record, error) { return r.reload(e.Path()) }
	r.envelope = envelopeBeside(*r.tree.Artifact)
	if _, r.earlyErr = readArtifact(*r.tree.Artifact); r.earlyErr == nil {
		r.earlyErr = unstated
	}
	v.waiting[r.key()] = append(v.waiting[r.key()], r)
	return r
}

// reload reads the artifact and the record again after their run was read. Until then
// they are not kept in memory.
func (r *recordClaim) reload(path string) ([]byte, *record.Record, error) {
	given, err := readArtifact(*r.tree.Artifact)
	if err != nil {
		return nil, nil, err
	}
	again, err := record.Read(path)
	if err != nil {
		return nil, nil, err
	}
	if settings, err := again.Settings(); err != nil || settings != r.settings || again.Predicate.Capture != r.source {
		return nil, nil, finding.New(finding.IOFailed, "%s changed while it was verified", finding.Escape(path)).WithHint("wait until it is complete, and verify the directory again")
	}
	return given, again, nil
}

// account marks a file that a record names as accounted for. It returns the path of the
// file. It returns nil if the file does not have the suffix or is not a regular file in
// the folder.
func (f *folder) account(name, suffix string) *string {
	e := f.regular(name)
	if e == nil {
		return nil
	}
	if _, ok := e.CutSuffix(suffix); !ok {
		return nil
	}
	e.accounted = true
	return new(e.Path())
}

// checkBeside returns an error if the artifact next to a record is missing, or if the
// artifact or the envelope is not a regular file. The envelope may be missing.
func checkBeside(f *folder, artifactName string) error {
	stem, named := strings.CutSuffix(artifactName, record.ArtifactSuffix)
	envelopeName := stem + record.EnvelopeSuffix
	a, env := f.files[artifactName], f.files[envelopeName]
	switch {
	case a == nil:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, does not exist", finding.Quote(artifactName))
	case !named:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, does not end in %s", finding.Quote(artifactName), record.ArtifactSuffix)
	case !a.regular():
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is %s", finding.Quote(artifactName), a.Kind())
	case env != nil && !env.regular():
		return finding.New(finding.EnvelopeAbsent, "%s next to the record is %s", finding.Quote(envelopeName), env.Kind()).
			WithSeverity(finding.Error).WithHint("replace it with the envelope itself, or remove it")
	}
	return nil
}

// verify verifies all records with the same key.
func (v *treeVerifier) verify(ctx context.Context, k key) {
	records := v.waiting[k]
	delete(v.waiting, k)
	if k.manifest != "" {
		v.settle(ctx, records, v.sources.byManifest[k.manifest])
		return
	}
	if groups := v.sources.candidateFiles(k.size); len(groups) > 0 && len(groups[0]) == 1 && v.sources.plain[k.size] == nil {
		// The verification also computes its digest.
		v.verifyFirst(ctx, records, groups[0][0])
	}
	byDigest := make(map[digest.Digest][]*recordClaim)
	for _, r := range records {
		byDigest[r.source.Digest] = append(byDigest[r.source.Digest], r)
	}
	for _, r := range records {
		if r.done {
			continue
		}
		candidates, err := v.sources.withBytes(ctx, k.size, r.source.Digest)
		if err != nil {
			r.fail(err)
			continue
		}
		v.settle(ctx, byDigest[r.source.Digest], candidates)
	}
}

// verifyFirst verifies records with e, the only first candidate for their capture. It
// skips records that state another digest.
func (v *treeVerifier) verifyFirst(ctx context.Context, records []*recordClaim, e *entry) {
	result, err := v.try(ctx, e.Path(), records)
	switch {
	case ctx.Err() != nil || result == nil && err == nil:
	case err != nil:
		v.sources.addDigest(e, "", err)
	default:
		s := v.sources.addDigest(e, result.Digest, nil)
		for _, r := range records {
			if r.source.Digest == result.Digest {
				v.setOutcome(ctx, r, s)
			}
		}
	}
}

// try verifies the unfinished records with the capture at path, in one reading. The
// result is nil if there are none, or if the capture cannot be opened.
func (v *treeVerifier) try(ctx context.Context, path string, records []*recordClaim) (*scan.Result, error) {
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
		again, err := v.readOnce(ctx, path, now)
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

// readOnce verifies claims in one reading of the capture at path.
func (v *treeVerifier) readOnce(ctx context.Context, path string, claims []*claim) (*scan.Result, error) {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		for _, one := range claims {
			one.err = asCaptureDiffers(err)
		}
		return nil, err
	}
	defer c.Close()
	return verifyClaims(ctx, c, claims, v.store, v.settings.Progress)
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
func (v *treeVerifier) settle(ctx context.Context, records []*recordClaim, candidates []*source) {
	if len(candidates) == 0 {
		for _, r := range records {
			r.fail(v.sources.notFound(r.source, "here"))
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
			if r.done || shouldTryNext(r.outcome(v.store)) && s.check(ctx, v.settings.Progress) != nil {
				continue
			}
			v.setOutcome(ctx, r, s)
		}
	}
	for _, r := range records {
		if !r.done {
			s := candidates[0]
			s.markUsed()
			r.tree.Capture = &s.path
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
func (v *treeVerifier) setOutcome(ctx context.Context, r *recordClaim, s *source) {
	s.markUsed()
	row := r.outcome(v.store)
	if !r.read && ctx.Err() == nil {
		v.addCaptureFault(ctx, s, &row)
	}
	v.store.release(r.compared)
	r.tree.Capture, r.tree.Verdict, r.done = &s.path, row.Verdict, true
	r.captureFindings, r.compared, r.found = nil, nil, v.store.add(row.Findings)
}

// addCaptureFault checks the capture and adds its fault, if any, to a row.
func (v *treeVerifier) addCaptureFault(ctx context.Context, s *source, row *Row) {
	err := s.check(ctx, v.settings.Progress)
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
