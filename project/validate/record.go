package validate

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// compareRecord compares an artifact or envelope with the record next to it, if
// there is one. It reports whether the digest differs, whether the snapshot was
// built, and whether the snapshot lacks streamed text. If the record is malformed or
// cannot be read, the verdict on an accepted file changes. The function read must be like
// record.ReadBounded.
func (row *Row) compareRecord(read func(path string, limit int) ([]byte, error)) {
	path, subject := row.recordPath()
	if path == "" {
		return
	}
	stated, _, err := record.ReadFrom(path, read)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		unread, isVerdict := finding.FromError(err)
		row.addFinding(unread)
		if row.Verdict == project.Accepted {
			row.Verdict = project.Failed
			if isVerdict {
				row.Verdict = project.Differs
			}
		}
		return
	}
	if sum := stated.Subject[subject].Digest.SHA256; sum != row.Digest.Hex() {
		row.addFinding(finding.New(finding.RecordOfAnother, "%s states the digest sha256:%s; this file has %s",
			finding.Escape(filepath.Base(path)), finding.Escape(sum), *row.Digest))
		if row.Verdict == project.Accepted {
			row.Verdict = project.Differs
		}
		return
	}
	if stated.Predicate.Projection.Origin == project.Built {
		row.addFinding(finding.New(finding.SnapshotBuilt, "the record next to the file states that the message snapshot was built, not emitted"))
	}
	if n := project.CountMissing(stated.Predicate.Omissions); n > 0 {
		row.addFinding(finding.New(finding.SnapshotLacksText, "the record next to the file names %s that the snapshot lacks", project.FormatStreamedCount(n)))
	}
}

// recordPath returns the path of the file's record and the index of the file in the
// subjects of the record. The path is empty for standard input.
func (row *Row) recordPath() (path string, subject int) {
	if row.File == "-" {
		return "", 0
	}
	if *row.Kind == Artifact {
		return record.Path(row.File), 0
	}
	if name, ok := strings.CutSuffix(row.File, record.EnvelopeSuffix); ok {
		return name + record.Suffix, 1
	}
	return "", 0
}
