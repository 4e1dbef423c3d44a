package verify

import (
	"context"
	"errors"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// captures emits rows for the unused captures in the directory and for unfinished
// captures.
func (v *treeVerifier) captures() bool {
	if v.settings.CapturesOnly {
		v.expect(len(v.sources.directories))
	}
	unused := func(yield func(*source) bool) {
		for _, s := range v.sources.directories {
			if s.inside && !s.used && !yield(s) {
				return
			}
		}
	}
	work := func(_ int, s *source) *TreeRow { return v.unused(s) }
	for row := range ordered.Map(v.ctx, v.settings.Jobs, unused, work) {
		if row != nil && !v.emit(*row) {
			return false
		}
	}
	if v.ctx.Err() != nil {
		return false
	}
	for _, f := range v.tree.folders {
		v.evidence = v.evidence || f.isCapture
		if row := v.notClosed(f); row != nil && !v.emit(*row) {
			return false
		}
	}
	return true
}

// notClosed returns the row of a folder that was to be a capture or was one. It marks the
// files of the folder as accounted for. It returns nil for other folders.
func (v *treeVerifier) notClosed(f *folder) *TreeRow {
	switch f.state() {
	case capture.Unfinished:
		v.evidence = true
		f.markStored()
		if !f.files.exists(f.path) {
			return nil // it was removed after the directory was listed
		}
		return &TreeRow{Capture: &f.path, Verdict: Unexplained, Findings: v.unfinished(f)}
	case capture.SetAside:
		v.evidence = true
		f.markStored()
		return &TreeRow{File: &f.path, Verdict: Unexplained, Findings: []finding.Finding{
			finding.New(finding.CaptureSetAside, "these files are the rest of an unfinished capture, which was recovered")}}
	case capture.Removed:
		f.markStored()
		if capture.StateOf(f.name(), func(string) bool { return false }) != capture.Removed {
			return nil // below one that is
		}
		if !f.files.exists(f.path) {
			return nil // it was removed after the directory was listed
		}
		return &TreeRow{File: &f.path, Verdict: Unexplained, Findings: v.unexplained(
			finding.New(finding.TemporaryFile, "the removal of this capture was interrupted").WithHint("%s", hint.PruneAgain))}
	}
	return nil
}

// unfinished returns the findings about an unfinished capture.
func (v *treeVerifier) unfinished(f *folder) []finding.Finding {
	used, err := f.files.inUse(f.path)
	switch {
	case used:
		return []finding.Finding{finding.New(finding.CaptureInUse, "the capture is being written")}
	case f.files.exists(dirtree.Join(f.path, capture.ManifestName)):
		if fault, ok := f.notAManifest(v.ctx); ok {
			return []finding.Finding{fault}
		}
		return []finding.Finding{finding.New(finding.CaptureInUse, "the capture was closed after the directory was listed")}
	}
	why := finding.New(finding.CaptureUnfinished, "%s has no capture.json, so the capture is unfinished", finding.Escape(f.path))
	if errors.Is(err, errors.ErrUnsupported) {
		why = finding.New(finding.CaptureUnfinished, "%s has no capture.json; the file system has no locks, so the capture may still be written", finding.Escape(f.path))
	}
	if !f.files.exists(dirtree.Join(f.path, capture.ClaimName)) {
		why = why.WithHint("read the response file as it is, without times of arrival")
	}
	return v.unexplained(why)
}

// notAManifest returns a finding if the manifest of the folder is not a regular file.
func (f *folder) notAManifest(ctx context.Context) (fault finding.Finding, ok bool) {
	c, err := f.files.open(ctx, f.path)
	if err == nil {
		c.Close()
		return fault, false
	}
	fault, _ = finding.FromError(err)
	return fault, fault.Code == finding.CaptureFileMissing
}

// markStored marks the regular files of the folder that have names of files of captures,
// finished or not, as accounted for.
func (f *folder) markStored() {
	for i := range f.entries {
		if e := &f.entries[i]; e.regular() && capture.IsFileName(e.name) {
			e.accounted = true
		}
	}
}

// unused returns the row of a capture directory that was not used for any record. It
// returns nil if the directory was removed after it was listed.
func (v *treeVerifier) unused(s *source) *TreeRow {
	path := s.path()
	row := &TreeRow{Capture: &path}
	if err := s.check(v.ctx, v.settings.progress()); err != nil {
		if !s.in.files.exists(s.in.path) {
			return nil
		}
		*row = rowOf(*row, err)
		return row
	}
	row.Verdict = Whole
	for _, f := range s.findings {
		switch {
		case f.Severity != finding.Error:
		case v.settings.CapturesOnly && f.Code == finding.ArrivalsMalformed:
			row.Verdict = project.Differs // the manifest states other arrivals
		default: // about events, not about the capture
			f = f.WithSeverity(finding.Warning)
		}
		row.Findings = append(row.Findings, f)
	}
	s.findings = nil
	if v.settings.CapturesOnly {
		return row
	}
	f := finding.New(finding.NothingFrozen, "no record in the directory was made from this capture")
	for _, other := range v.sources.byManifest[s.manifest] {
		if other.used {
			f = repeated(other)
			break
		}
	}
	row.Findings = append(row.Findings, f)
	return row
}

func repeated(used *source) finding.Finding {
	return finding.New(finding.CaptureRepeated, "this is a copy of the capture %s, which was used", finding.Escape(used.path()))
}

// unexplained returns a finding about an unexplained file with its severity.
func (v *treeVerifier) unexplained(f finding.Finding) []finding.Finding {
	severity := finding.Warning
	if v.settings.Strict {
		severity = finding.Error
	}
	return []finding.Finding{f.WithSeverity(severity)}
}

// leftovers emits rows for all entries that are not accounted for.
func (v *treeVerifier) leftovers() bool {
	for e := range v.tree.all() {
		if !e.accounted && !v.emit(v.leftover(e)) {
			return false
		}
	}
	return true
}

const unlisted = "the file is in a capture directory, but capture.json does not list it"

// leftover returns the row of an entry that is not accounted for.
func (v *treeVerifier) leftover(e *entry) TreeRow {
	switch {
	case e.err() != nil:
		v.evidence = true // it may contain evidence
		return rowOf(TreeRow{File: new(e.path())}, e.err())
	case !e.regular():
		return v.stray(e, "it is "+e.kind())
	case e.in.isCapture && (e.name == capture.ClaimName || atomicfile.IsTemporary(e.name)):
		return v.temporaryOfCapture(e)
	case atomicfile.IsTemporary(e.name):
		return v.temporary(e)
	case v.settings.CapturesOnly && e.in.isCapture:
		return v.stray(e, unlisted)
	case v.settings.CapturesOnly:
		return v.stray(e, "the file does not belong to a capture, and only captures are checked")
	}
	if strings.HasSuffix(e.name, record.ArtifactSuffix) {
		v.evidence = true
		return rowOf(TreeRow{Artifact: new(e.path())}, finding.New(finding.RecordAbsent, "no record next to the artifact names it, so it cannot be verified"))
	}
	if strings.HasSuffix(e.name, record.EnvelopeSuffix) {
		v.evidence = true
		return rowOf(TreeRow{File: new(e.path())}, finding.New(finding.RecordAbsent, "no record next to the envelope names it, so it cannot be verified"))
	}
	if strings.HasSuffix(e.name, record.SignatureSuffix) || strings.HasSuffix(e.name, record.TimestampSuffix) {
		v.evidence = true
		return rowOf(TreeRow{File: new(e.path())}, finding.New(finding.RecordAbsent, "the record that the signature or time-stamp would be of does not exist"))
	}
	if used := v.sources.usedCopy(e); used != nil {
		return TreeRow{Capture: new(e.path()), Verdict: Whole, Findings: []finding.Finding{repeated(used)}}
	}
	if e.in.isCapture {
		return v.stray(e, unlisted)
	}
	return v.stray(e, "no record in the directory names this file or was made from it")
}

// temporary returns the row of a temporary file.
func (v *treeVerifier) temporary(e *entry) TreeRow {
	row := TreeRow{File: new(e.path()), Verdict: Unexplained}
	if e.files().locked(e.path()) {
		row.Findings = []finding.Finding{finding.New(finding.TemporaryFile, "a program is writing this file").WithSeverity(finding.Info).WithHint("")}
		return row
	}
	row.Findings = v.unexplained(finding.New(finding.TemporaryFile, "this is a temporary file of p20export, which was killed or is still running"))
	return row
}

// temporaryOfCapture returns the row of a file that is left of the writing of a closed
// capture.
func (v *treeVerifier) temporaryOfCapture(e *entry) TreeRow {
	row := TreeRow{File: new(e.path()), Verdict: Unexplained}
	if used, err := e.in.files.inUse(e.in.path); err == nil && used || !e.files().exists(e.path()) {
		row.Findings = []finding.Finding{finding.New(finding.CaptureInUse, "the capture was being closed")}
		return row
	}
	row.Findings = v.unexplained(finding.New(finding.TemporaryFile, "this file was not removed when the capture was closed").WithHint("%s", hint.RecoverRemoves))
	return row
}

func (v *treeVerifier) stray(e *entry, why string) TreeRow {
	return TreeRow{File: new(e.path()), Verdict: Unexplained, Findings: v.unexplained(finding.New(finding.FileUnexplained, "%s", why))}
}

// decides reports whether a row determines the verdict on the directory: something was
// verified, or the row is a failure.
func (s *TreeSettings) decides(row TreeRow) bool {
	switch row.Verdict {
	case Whole:
		return s.CapturesOnly
	case Unexplained:
		return finding.Failed(row.Findings)
	}
	return true
}

// nothingVerified returns a finding which says that nothing in the directory was
// verified.
func (v *treeVerifier) nothingVerified(dir string) error {
	dir = finding.Escape(dir)
	switch {
	case v.settings.CapturesOnly:
		return finding.New(finding.NothingVerified, "%s contains no closed capture", dir).WithHint("check the path")
	case v.evidence:
		return finding.New(finding.NothingVerified, "%s contains no record, so nothing was verified", dir)
	}
	return finding.New(finding.NothingToVerify, "%s contains no artifact, envelope, record or capture", dir)
}

// rowOf returns row with the outcome of an error.
func rowOf(row TreeRow, err error) TreeRow {
	f, verdict := outcomeOf(err)
	row.Verdict, row.Findings = verdict, append(row.Findings, f)
	return row
}

// failedRow returns row with the verdict project.Failed and an error.
func failedRow(row TreeRow, err error) TreeRow {
	row = rowOf(row, err)
	row.Verdict = project.Failed
	return row
}
