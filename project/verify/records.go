package verify

import (
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

// statedRecord is what is kept of each record in a directory until its row is emitted.
// There can be very many records, so it is small.
type statedRecord struct {
	file    *entry
	capture key
	// unusable means that the outcome of the record is known without its capture.
	unusable bool
	// begun means that a group with the record was begun.
	begun bool
	// next is the number of the next record that states the same manifest, or a plain
	// file of the same size, or 0.
	next int32
}

// key identifies the capture that a record states: by the digest of its manifest, or
// by the size and digest of a plain file.
type key struct {
	digest sum
	size   int64 // of a plain file
	plain  bool
}

// recordGroup are records that are verified together, by one goroutine: those that state
// one capture, or those that state a plain file of one size.
type recordGroup struct {
	records    []int     // numbers of records, from 0
	candidates []*source // the captures that the records state
	// first is the only file that must be tried first, before the digests of other
	// files of its size are computed, or nil.
	first *entry
	err   error // of finding the candidates
}

// verified is the outcome of one record.
type verified struct {
	record int
	row    TreeRow
	found  *storedFindings // the findings of the row, or nil
	judged *judged         // or nil, if the record cannot be read
}

// records verifies every record in the order of their paths. It reads all records
// first to group them by capture.
func (v *treeVerifier) records() bool {
	list, ok := v.readRecords()
	if !ok {
		return false
	}
	v.expect(len(list))
	next, stop := iter.Pull(ordered.Map(v.ctx, v.settings.Jobs, v.groups(list), func(_ int, g recordGroup) []verified {
		return v.verify(list, g)
	}))
	defer stop()
	waiting := make(map[int]verified) // outcomes of records whose turn has not come
	for i := range list {
		// The groups are in the order of their first records.
		if _, known := waiting[i]; !known {
			outcomes, ok := next()
			if !ok {
				return false
			}
			for _, one := range outcomes {
				waiting[one.record] = one
			}
		}
		one := waiting[i]
		delete(waiting, i)
		if one.found != nil {
			found, err := v.store.get(one.found)
			if one.row.Findings = found; err != nil {
				one.row = rowOf(one.row, err)
			}
			v.store.release(one.found)
		}
		one.judged.addTo(&one.row)
		if !v.emit(one.row) {
			return false
		}
	}
	return true
}

// readRecords reads all records of the directory and marks the files that they name as
// accounted for.
func (v *treeVerifier) readRecords() ([]statedRecord, bool) {
	type result struct {
		statedRecord
		named [4]*entry
	}
	files := func(yield func(*entry) bool) {
		for e := range v.tree.all() {
			if strings.HasSuffix(e.name, record.Suffix) && e.regular() && (v.ctx.Err() != nil || !yield(e)) {
				return
			}
		}
	}
	read := func(_ int, e *entry) result {
		r := newRecordClaim(e)
		return result{statedRecord{file: e, capture: r.key(), unusable: r.done}, r.named}
	}
	var list []statedRecord
	for one := range ordered.Map(v.ctx, v.settings.Jobs, files, read) {
		v.evidence = true
		one.file.accounted = true
		for _, e := range one.named {
			if e != nil {
				e.accounted = true
			}
		}
		list = append(list, one.statedRecord)
	}
	return list, v.ctx.Err() == nil
}

// groups returns the groups of records in the order of their first records. It computes
// the digests of plain files if this is necessary to find the captures of a group.
func (v *treeVerifier) groups(list []statedRecord) iter.Seq[recordGroup] {
	first := make(map[key]int32) // of the records that are linked
	for i := len(list) - 1; i >= 0; i-- {
		r := &list[i]
		of := r.capture
		if of.plain {
			of.digest = sum{}
		}
		if !r.unusable {
			r.next = first[of]
			first[of] = int32(i)
		}
	}
	linked := func(i int) (records []int) {
		for records = []int{i}; list[i].next > 0; {
			i = int(list[i].next)
			records = append(records, i)
		}
		return records
	}
	return func(yield func(recordGroup) bool) {
		byDigest := make(map[key][]int) // of the sizes that several files have
		grouped := make(map[int64]bool) // the sizes in byDigest
		for i := range list {
			r := &list[i]
			if r.begun {
				continue
			}
			var g recordGroup
			switch k := r.capture; {
			case r.unusable:
				g.records = []int{i}
			case !k.plain:
				g.records, g.candidates = linked(i), v.sources.byManifest[k.digest]
			default:
				if files := v.sources.group(k.size).files; len(files) > 0 && len(files[0]) == 1 {
					// The verification also computes its digest.
					g.records, g.first = linked(i), files[0][0]
					break
				}
				if !grouped[k.size] {
					grouped[k.size] = true
					for _, i := range linked(i) {
						byDigest[list[i].capture] = append(byDigest[list[i].capture], i)
					}
				}
				g.records = byDigest[k]
				delete(byDigest, k)
				g.candidates, g.err = v.sources.withBytes(v.ctx, k.size, k.digest)
			}
			for _, i := range g.records {
				list[i].begun = true
			}
			if !yield(g) {
				return
			}
		}
	}
}

// verify verifies the records of a group.
func (v *treeVerifier) verify(list []statedRecord, g recordGroup) []verified {
	claims := make([]*recordClaim, len(g.records))
	for i, number := range g.records {
		r := newRecordClaim(list[number].file)
		if stated := &list[number]; !r.done && (stated.unusable || r.key() != stated.capture) {
			r.fail(changed(stated.file.path()))
		}
		if !r.done {
			r.readArtifact(len(g.records) <= maxKept)
		}
		r.judge(v.ctx, v.settings.Signed)
		claims[i] = r
	}
	open := slices.DeleteFunc(slices.Clone(claims), func(r *recordClaim) bool { return r.done })
	switch {
	case g.err != nil:
		for _, r := range open {
			r.fail(g.err)
		}
	case g.first != nil:
		v.verifyPlain(open, g.first)
	default:
		v.settle(open, g.candidates)
	}
	outcomes := make([]verified, len(claims))
	for i, r := range claims {
		outcomes[i] = verified{g.records[i], r.tree, r.found, r.judged}
	}
	return outcomes
}

// recordClaim is the claim of a record in a directory, and its row.
type recordClaim struct {
	claim
	earlyErr error // an error that was found before any capture was read
	tree     TreeRow
	found    *storedFindings // the findings of the row
	done     bool            // tree has the outcome
	// named are the artifact and the envelope that the record names, and its signature
	// and time-stamp.
	named  [4]*entry
	files  files
	stated *record.Record // until readArtifact
	bytes  []byte         // of the record, until its signature is judged
	sum    digest.Digest  // of the record
	in     *folder
	judged *judged
}

// key returns the capture that the record states.
func (r *recordClaim) key() key {
	if m := r.source.ManifestDigest; m != "" {
		return key{digest: sumOf(m)}
	}
	return key{sumOf(r.source.Digest), r.source.Bytes, true}
}

// fail sets an outcome from an error.
func (r *recordClaim) fail(err error) { r.tree, r.done = rowOf(r.tree, err), true }

// newRecordClaim reads one record and finds the files next to it.
func newRecordClaim(e *entry) *recordClaim {
	r := &recordClaim{tree: TreeRow{Record: new(e.path())}}
	files := e.files()
	r.in = e.in
	r.named[2], r.named[3] = e.in.regular(record.SignaturePath(e.name)), e.in.regular(record.TimestampPath(e.name))
	what, stated, err := record.ReadFrom(e.path(), files.read)
	if err != nil {
		stem := strings.TrimSuffix(e.name, record.Suffix)
		r.name(e.in, stem+record.ArtifactSuffix, stem+record.EnvelopeSuffix)
		r.fail(err)
		return r
	}
	r.claim.name = what.Subject[0].Name
	r.name(e.in, what.Subject[0].Name, what.Subject[1].Name)
	r.tree.Source = what.Predicate.Capture
	unstated := r.state(what)
	r.tree.Origin, r.tree.TimeSource, r.tree.FromRequest = r.origin, r.timeSource, r.fromRequest
	if err := checkBeside(e.in, r.claim.name); err != nil {
		r.fail(err)
		return r
	}
	r.files, r.stated, r.earlyErr = files, what, unstated
	r.bytes, r.sum = stated, digest.Of(stated)
	r.envelope = envelopeBeside(files, *r.tree.Artifact)
	return r
}

// judge judges the signature of the record, unless the record cannot be read.
func (r *recordClaim) judge(ctx context.Context, p *sign.Policy) {
	if r.bytes == nil {
		return
	}
	r.judged = judge(ctx, *r.tree.Record, r.bytes, p, func(path string, limit int) ([]byte, error) {
		if r.in.regular(filepath.Base(path)) == nil {
			return nil, fs.ErrNotExist // a link is not followed
		}
		return r.files.read(path, limit)
	})
	r.bytes = nil
}

// maxKept is the maximum number of records in a group that are kept in memory with their
// artifacts, if they are small, until their capture has been read. maxKeptBytes bounds
// the size of such an artifact, and maxKeptOmissions that of its record.
const (
	maxKept          = 16
	maxKeptBytes     = 64 << 10
	maxKeptOmissions = 64
)

// readArtifact checks that the artifact can be read. It keeps the artifact and the record
// for the comparison if keep is true and they are small.
func (r *recordClaim) readArtifact(keep bool) {
	given, err := readArtifact(r.files, *r.tree.Artifact)
	if err != nil {
		r.earlyErr = err
	}
	stated := r.stated
	r.stated = nil
	if keep && len(given) <= maxKeptBytes && len(stated.Predicate.Omissions) <= maxKeptOmissions {
		r.load = func() ([]byte, *record.Record, error) { return given, stated, nil }
		return
	}
	r.load = r.reload
}

// name sets the artifact and the envelope that the record names, unless they do not have
// the suffix of their kind or are not regular files in the folder.
func (r *recordClaim) name(f *folder, artifact, envelope string) {
	if strings.HasSuffix(artifact, record.ArtifactSuffix) {
		r.named[0] = f.regular(artifact)
	}
	if strings.HasSuffix(envelope, record.EnvelopeSuffix) {
		r.named[1] = f.regular(envelope)
	}
	if e := r.named[0]; e != nil {
		r.tree.Artifact = new(e.path())
	}
}

// reload reads the artifact and the record again after their run was read. Until then
// they are not kept in memory.
func (r *recordClaim) reload() ([]byte, *record.Record, error) {
	given, err := readArtifact(r.files, *r.tree.Artifact)
	if err != nil {
		return nil, nil, err
	}
	path := *r.tree.Record
	again, stated, err := record.ReadFrom(path, r.files.read)
	if err != nil {
		return nil, nil, err
	}
	if digest.Of(stated) != r.sum {
		return nil, nil, changed(path)
	}
	return given, again, nil
}

// changed returns the finding about a record that changed while it was verified.
func changed(path string) error {
	return finding.New(finding.IOFailed, "%s changed while it was verified", finding.Escape(path)).WithHint("wait until it is complete, and verify the directory again")
}

// checkBeside returns an error if the artifact next to a record is missing, or if the
// artifact or the envelope is not a regular file. The envelope may be missing.
func checkBeside(f *folder, artifactName string) error {
	stem, named := strings.CutSuffix(artifactName, record.ArtifactSuffix)
	envelopeName := stem + record.EnvelopeSuffix
	a, env := f.file(artifactName), f.file(envelopeName)
	switch {
	case a == nil:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, does not exist", finding.Quote(artifactName))
	case !named:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, does not end in %s", finding.Quote(artifactName), record.ArtifactSuffix)
	case !a.regular():
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is %s", finding.Quote(artifactName), a.kind())
	case env != nil && !env.regular():
		return finding.New(finding.EnvelopeAbsent, "%s next to the record is %s", finding.Quote(envelopeName), env.kind()).
			WithSeverity(finding.Error).WithHint("replace it with the envelope itself, or remove it")
	}
	return nil
}
