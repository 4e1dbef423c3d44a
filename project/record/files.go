package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Suffixes of the files of the signature of a record, a DSSE envelope and a time-stamp
// response of RFC 3161.
const (
	SignatureSuffix = ".record.dsse.json"
	TimestampSuffix = ".record.tsr"
)

// SignaturePath returns the path of the signature of the record at a path.
func SignaturePath(record string) string { return strings.TrimSuffix(record, ".json") + ".dsse.json" }

// TimestampPath returns the path of the time-stamp of the signature of the record at a path.
func TimestampPath(record string) string { return strings.TrimSuffix(record, ".json") + ".tsr" }

// Path returns the path of the record that freeze writes for an artifact. If the
// name does not end in ArtifactSuffix, Suffix replaces its last extension.
func Path(artifact string) string {
	name, ok := strings.CutSuffix(artifact, ArtifactSuffix)
	if !ok {
		name = strings.TrimSuffix(artifact, filepath.Ext(artifact))
	}
	return name + Suffix
}

// kindByName returns the kind of a path that is named like a record or an
// envelope, and the empty string for all others.
func kindByName(path string) string {
	switch {
	case strings.HasSuffix(path, Suffix):
		return "a record"
	case strings.HasSuffix(path, EnvelopeSuffix):
		return "an envelope"
	case strings.HasSuffix(path, SignatureSuffix):
		return "the signature of a record"
	}
	return ""
}

// CheckArtifactName returns the finding not_an_artifact if the path is named like a
// record or an envelope.
func CheckArtifactName(path string) error {
	kind := kindByName(path)
	if kind == "" {
		return nil
	}
	return finding.New(finding.NotArtifact, "the file is named like %s", kind).WithSeverity(finding.Error).WithHint("give the *%s next to it", ArtifactSuffix)
}

// ReadArtifact reads an artifact file. If the file is longer than
// artifact.MaxFileBytes, ReadArtifact returns its first artifact.MaxFileBytes+1
// bytes, which artifact.Decode refuses.
func ReadArtifact(path string) ([]byte, error) {
	data, err := ReadBounded(path, artifact.MaxFileBytes)
	if errors.Is(err, ErrTooLong) {
		err = nil
	}
	return data, err
}

// Read reads and decodes a record. For an invalid record, the error is the finding
// record_malformed.
func Read(path string) (*Record, error) {
	r, _, err := ReadFrom(path, ReadBounded)
	return r, err
}

// ReadFrom is like Read, but calls read for the content of the file, and also returns that.
// read must behave like ReadBounded.
func ReadFrom(path string, read func(path string, limit int) ([]byte, error)) (_ *Record, stated []byte, _ error) {
	stated, err := read(path, MaxBytes)
	if errors.Is(err, ErrTooLong) {
		return nil, nil, finding.New(finding.RecordMalformed, "%s", finding.Escape(err.Error()))
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := Decode(stated)
	if err != nil {
		return nil, nil, finding.New(finding.RecordMalformed, "%s is not a record: %s", finding.Escape(filepath.Base(path)), finding.Printable(err.Error()))
	}
	return r, stated, nil
}

// ErrTooLong reports a file that exceeds the limit of its kind.
var ErrTooLong = errors.New("too long")

// ReadBounded reads a regular file of at most limit bytes. For a longer file it
// returns the first limit+1 bytes and ErrTooLong. It does not open other kinds of
// files, since a named pipe would block until there is a writer.
func ReadBounded(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return readBounded(path, limit, info, func() (fs.File, error) { return os.Open(path) })
}

// ReadBoundedFS is like ReadBounded for a file of a file system.
func ReadBoundedFS(fsys fs.FS, path string, limit int) ([]byte, error) {
	info, err := fs.Stat(fsys, path)
	if err != nil {
		return nil, err
	}
	return readBounded(path, limit, info, func() (fs.File, error) { return fsys.Open(path) })
}

func readBounded(path string, limit int, info fs.FileInfo, open func() (fs.File, error)) ([]byte, error) {
	switch {
	case info.IsDir():
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The buffer fits a file of the size that it had.
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), int64(limit)+1)+bytes.MinRead))
	_, err = buf.ReadFrom(io.LimitReader(f, int64(limit)+1))
	data := buf.Bytes()
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: %w: more than %d bytes", path, ErrTooLong, limit)
	}
	return data, err
}
