package verify

import (
	"context"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// captures judges the captures in the directory that no row has named, and
// those that were not closed.
func (v *treeVerifier) captures(ctx context.Context) bool {
	for _, s := range v.sources.directories {
		if !s.inside {
			continue
		}
		v.evidence = true
		if !s.used && !v.tell(v.unused(ctx, s)) {
			return false
		}
	}
	for _, f := range v.tree.folders {
		if !f.unfinished() {
			continue
		}
		v.evidence = true
		f.tell(append(captureFiles(), capture.ClaimName))
		why := finding.New(finding.CaptureUnfinished, "%s has no capture.json, so it is no closed capture", finding.Escape(f.path))
		if !v.tell(TreeRow{Capture: &f.path, Verdict: Unexplained, Findings: v.unexplained(why)}) {
			return false
		}
	}
	return true
}

// unused is the row of a capture directory that no record was verified from.
func (v *treeVerifier) unused(ctx context.Context, s *source) TreeRow {
	row := TreeRow{Capture: &s.path}
	if err := s.check(ctx, v.settings.Progress); err != nil {
		return rowOf(row, err)
	}
	row.Verdict = Whole
	for _, f := range s.findings {
		if f.Severity == finding.Error { // of its events, and not of the capture
			f = f.WithSeverity(finding.Warning)
		}
		row.Findings = append(row.Findings, f)
	}
	if v.settings.CapturesOnly {
		return row
	}
	f := finding.New(finding.NothingFrozen, "no record here was made from it")
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
	return finding.New(finding.CaptureRepeated, "it is the same capture as %s, which was used", finding.Escape(used.path))
}

// unexplained grades a finding about something unexplained.
func (v *treeVerifier) unexplained(f finding.Finding) []finding.Finding {
	severity := finding.Warning
	if v.settings.Strict {
		severity = finding.Error
	}
	return []finding.Finding{f.WithSeverity(severity)}
}

// rest tells of everything that no row has accounted for.
func (v *treeVerifier) rest() bool {
	for _, e := range v.tree.entries {
		if !e.told && !v.tell(v.leftover(e)) {
			return false
		}
	}
	return true
}

const unlisted = "it lies in a capture whose capture.json does not list it"

// leftover is the row of an entry that no other row accounts for.
func (v *treeVerifier) leftover(e *entry) TreeRow {
	switch {
	case e.Err != nil:
		v.evidence = true // as far as can be told
		return rowOf(TreeRow{File: new(e.Path())}, e.Err)
	case !e.regular():
		return v.stray(e, "it is "+e.Kind())
	case atomicfile.IsTemporary(e.Name):
		why := finding.New(finding.TemporaryFile, "a temporary file of p20export, which was killed or is still writing it")
		return TreeRow{File: new(e.Path()), Verdict: Unexplained, Findings: v.unexplained(why)}
	case v.settings.CapturesOnly && e.in.isCapture:
		return v.stray(e, unlisted)
	case v.settings.CapturesOnly:
		return v.stray(e, "it belongs to no capture, and captures alone are checked")
	}
	if _, ok := e.CutSuffix(record.ArtifactSuffix); ok {
		v.evidence = true
		return rowOf(TreeRow{Artifact: new(e.Path())}, finding.New(finding.RecordAbsent, "no record beside the artifact names it, so it cannot be verified"))
	}
	if _, ok := e.CutSuffix(record.EnvelopeSuffix); ok {
		v.evidence = true
		return rowOf(TreeRow{File: new(e.Path())}, finding.New(finding.RecordAbsent, "no record beside the envelope names it, so it cannot be verified"))
	}
	if used := v.sources.repeats(e); used != nil {
		return TreeRow{Capture: new(e.Path()), Verdict: Whole, Findings: []finding.Finding{repeated(used)}}
	}
	if e.in.isCapture {
		return v.stray(e, unlisted)
	}
	return v.stray(e, "no record here names it or was made from it")
}

func (v *treeVerifier) stray(e *entry, why string) TreeRow {
	return TreeRow{File: new(e.Path()), Verdict: Unexplained, Findings: v.unexplained(finding.New(finding.FileUnexplained, "%s", why))}
}

// settles reports whether a row is of something that was verified, or is a
// failure: whether the directory has a verdict with it.
func (s *TreeSettings) settles(row TreeRow) bool {
	switch row.Verdict {
	case Whole:
		return s.CapturesOnly
	case Unexplained:
		return finding.Failed(row.Findings)
	}
	return true
}

// nothing is the finding that nothing in the directory was verified.
func (v *treeVerifier) nothing(dir string) error {
	dir = finding.Escape(dir)
	switch {
	case v.settings.CapturesOnly:
		return finding.New(finding.NothingVerified, "%s holds no closed capture", dir).WithHint("check the path")
	case v.evidence:
		return finding.New(finding.NothingVerified, "%s holds no record, so nothing was verified", dir)
	}
	return finding.New(finding.NothingToVerify, "%s holds no artifact, envelope, record or capture", dir)
}

// rowOf completes a row that an error ended.
func rowOf(row TreeRow, err error) TreeRow {
	f, verdict := unverified(err)
	row.Verdict, row.Findings = verdict, append(row.Findings, f)
	return row
}

// failedRow completes the row of a directory of which nothing can be said.
func failedRow(row TreeRow, err error) TreeRow {
	row = rowOf(row, err)
	row.Verdict = project.Failed
	return row
}
