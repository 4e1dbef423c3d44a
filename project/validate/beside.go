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

// compareRecord compares an artifact or envelope with the record beside it, if there
// is one: whether it is the file that the record states, whether its snapshot was
// built, and whether it lacks text that the run streamed. With a record that is malformed or cannot be read the file is not known
// to be what was frozen.
func (row *Row) compareRecord() {
	path, subject := row.recordPath()
	if path == "" {
		return
	}
	beside, err := record.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		unread, isVerdict := finding.FromError(err)
		row.inform(unread)
		if row.Verdict == project.Accepted {
			row.Verdict = project.Failed
			if isVerdict {
				row.Verdict = project.Differs
			}
		}
		return
	}
	if stated := beside.Subject[subject].Digest.SHA256; stated != row.Digest.Hex() {
		row.inform(finding.New(finding.RecordOfAnother, "%s states the digest sha256:%s; this file has %s",
			finding.Escape(filepath.Base(path)), finding.Escape(stated), *row.Digest))
		if row.Verdict == project.Accepted {
			row.Verdict = project.Differs
		}
		return
	}
	if beside.Predicate.Projection.Origin == project.Built {
		row.inform(finding.New(finding.SnapshotBuilt, "the record beside it says that its message snapshot was built, not emitted"))
	}
	if n := project.CountMissing(beside.Predicate.Omissions); n > 0 {
		row.inform(finding.New(finding.SnapshotLacksText, "the record beside it names %s that its snapshot lacks", project.FormatStreamedCount(n)))
	}
}

// recordPath returns where freeze writes the record of the file, and which of the
// record's subjects the file is; nothing for standard input.
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
