package record

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
)

// Suffixes of the three files of a frozen run.
const (
	ArtifactSuffix = ".artifact.json"
	EnvelopeSuffix = ".envelope.ndjson"
	Suffix         = ".record.json"
)

// Path returns where freeze writes the record of an artifact. One of another
// name has it beside its name without the last extension.
func Path(artifact string) string {
	name, ok := strings.CutSuffix(artifact, ArtifactSuffix)
	if !ok {
		name = strings.TrimSuffix(artifact, filepath.Ext(artifact))
	}
	return name + Suffix
}

// otherThanArtifact says what freeze would have written under a name, when that
// is no artifact.
func otherThanArtifact(path string) string {
	switch {
	case strings.HasSuffix(path, Suffix):
		return "a record"
	case strings.HasSuffix(path, EnvelopeSuffix):
		return "an envelope"
	}
	return ""
}

// CheckArtifactName reports a path that is named like another file that freeze
// writes: the finding not_an_artifact.
func CheckArtifactName(path string) error {
	kind := otherThanArtifact(path)
	if kind == "" {
		return nil
	}
	return finding.New(finding.NotArtifact, "its name is that of %s", kind).WithSeverity(finding.Error).WithHint("name the *%s beside it", ArtifactSuffix)
}

// ReadArtifact reads an artifact file. Of one that is longer than an artifact
// may be it returns the beginning, which artifact.Decode refuses for its length.
func ReadArtifact(path string) ([]byte, error) {
	data, err := ReadBounded(path, artifact.MaxFileBytes)
	if errors.Is(err, ErrTooLong) {
		err = nil
	}
	return data, err
}

// Read reads a record strictly. An invalid record is the finding record_malformed.
func Read(path string) (*Record, error) {
	stated, err := ReadBounded(path, MaxBytes)
	if errors.Is(err, ErrTooLong) {
		return nil, finding.New(finding.RecordMalformed, "%s", finding.Escape(err.Error()))
	}
	if err != nil {
		return nil, err
	}
	r, err := Decode(stated)
	if err != nil {
		return nil, finding.New(finding.RecordMalformed, "%s is no record: %s", finding.Escape(filepath.Base(path)), finding.Printable(err.Error()))
	}
	return r, nil
}

// ErrTooLong marks a file that is longer than anything of its kind.
var ErrTooLong = errors.New("too long")

// ReadBounded reads a regular file of at most limit bytes. Of a longer one it
// returns the beginning, one byte past the limit, and ErrTooLong. Nothing else
// is opened: a named pipe would wait for its writer.
func ReadBounded(path string, limit int) ([]byte, error) {
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
		err = fmt.Errorf("%s: %w: more than %d bytes", path, ErrTooLong, limit)
	}
	return data, err
}
