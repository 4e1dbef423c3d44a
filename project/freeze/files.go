package freeze

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// RecordPath returns where freeze writes the record of an artifact. One of
// another name has it beside its name without the last extension.
func RecordPath(artifact string) string {
	name, ok := strings.CutSuffix(artifact, ArtifactSuffix)
	if !ok {
		name = strings.TrimSuffix(artifact, filepath.Ext(artifact))
	}
	return name + recordSuffix
}

// OtherThanArtifact says what freeze would have written under a name, when that
// is no artifact.
func OtherThanArtifact(path string) string {
	switch {
	case strings.HasSuffix(path, recordSuffix):
		return "a record"
	case strings.HasSuffix(path, envelopeSuffix):
		return "an envelope"
	}
	return ""
}

// ReadArtifact reads an artifact file. Of one that is longer than an artifact
// may be it returns the beginning, which artifact.Decode refuses for its length.
func ReadArtifact(path string) ([]byte, error) {
	data, err := readBounded(path, artifact.MaxFileBytes)
	if errors.Is(err, errTooLong) {
		err = nil
	}
	return data, err
}

// ReadRecord reads a record strictly. What is no record is a finding.
func ReadRecord(path string) (*project.Record, error) {
	stated, err := readBounded(path, project.MaxRecordBytes)
	if errors.Is(err, errTooLong) {
		return nil, finding.New(finding.RecordMalformed, "%s", finding.Escape(err.Error()))
	}
	if err != nil {
		return nil, err
	}
	record, err := project.DecodeRecord(stated)
	if err != nil {
		return nil, finding.New(finding.RecordMalformed, "%s is no record: %s", finding.Escape(filepath.Base(path)), finding.Printable(err.Error()))
	}
	return record, nil
}

// errTooLong marks a file that is longer than anything of its kind.
var errTooLong = errors.New("too long")

// readBounded reads a regular file of at most limit bytes. Of a longer one it
// returns the beginning, one byte past the limit, and errTooLong. Nothing else
// is opened: a named pipe would wait for its writer.
func readBounded(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: %w: more than %d bytes", path, errTooLong, limit)
	}
	return data, err
}
