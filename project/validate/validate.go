// Package validate validates files as artifacts of the v1 contract or as bounded
// envelopes.
//
// The rules for both are in packages artifact and envelope.
package validate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/diff"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// Kind is the kind of a file.
type Kind string

// The kinds of file that can be validated.
const (
	Artifact Kind = "artifact"
	Envelope Kind = "envelope"
)

// ParseKind returns the kind named s. An empty name means that the kind is detected.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case "", Artifact, Envelope:
		return k, nil
	}
	return "", errors.New("invalid kind: must be artifact or envelope")
}

// maxEnvelopeBytes and maxEvents bound how much of an envelope is read, since a stream
// may be endless. The three events have at most capture.MaxEventBytes each. Another
// capture.MaxEventBytes are for the framing around them.
const (
	maxEnvelopeBytes = 4 * capture.MaxEventBytes
	maxEvents        = 100_000
)

// Row is the outcome of validating one file.
type Row struct {
	File    string           `json:"file"`
	Kind    *Kind            `json:"kind"`
	Profile artifact.Profile `json:"profile"`
	Verdict project.Verdict  `json:"verdict"`
	// Digest is the digest of the file's bytes. It is nil if the file was not read
	// to its end.
	Digest *digest.Digest `json:"digest"`
	// Canonical reports whether the file is in the canonical form of its kind.
	Canonical *bool             `json:"canonical"`
	Findings  []finding.Finding `json:"findings"`
	// Bytes is the size of the file. It is valid if Digest is not nil.
	Bytes int64 `json:"-"`

	decoded *artifact.Artifact // nil unless the file is a well-formed artifact
}

// File validates one file as an artifact or a bounded envelope. If kind is empty, File
// detects the kind from the file's name or from its first bytes. The path "-" means
// standard input.
//
// If there is a record next to the file, File also reports whether the record states a
// built snapshot or missing streamed text. A well-formed file has the verdict
// project.Differs if the record states another digest.
//
// Findings in the first artifact.MaxFileBytes of the file have lines, columns and
// excerpts. Findings after these bytes, which only envelopes can have, only have an
// offset. A pipe or device may be endless, so it is not read past the limit of its
// kind. A regular file is read to its end for the digest.
func File(ctx context.Context, path string, p artifact.Profile, kind Kind) Row {
	r, closeFile, err := capture.OpenInput(ctx, path)
	if err != nil {
		row := newRow(path, p, kind)
		row.setVerdict(err)
		return *row
	}
	defer closeFile()
	row := newRow(path, p, kind)
	row.setVerdict(row.read(r, kind, isRegular(path)))
	if row.Digest != nil {
		row.compareRecord(record.ReadBounded)
	}
	return *row
}

// fileIn is like File for a file of a file system.
func fileIn(fsys fs.FS, name string, p artifact.Profile, kind Kind) Row {
	row := newRow(name, p, kind)
	f, err := fsys.Open(path.Clean(name))
	if err != nil {
		row.setVerdict(err)
		return *row
	}
	defer f.Close()
	row.setVerdict(row.read(f, kind, true))
	if row.Digest != nil {
		row.compareRecord(func(name string, limit int) ([]byte, error) {
			return record.ReadBoundedFS(fsys, path.Clean(name), limit)
		})
	}
	return *row
}

// Reader validates the content of r under a name, like File for a pipe. It reads no
// record. The default profile is artifact.V1.
func Reader(r io.Reader, name string, p artifact.Profile, kind Kind) Row {
	row := newRow(name, p, kind)
	row.setVerdict(row.read(r, kind, false))
	return *row
}

// ReadArtifact validates one file as an artifact under artifact.V1, like File, and
// returns the artifact, or nil if the file is not accepted. It reads no record.
func ReadArtifact(ctx context.Context, path string) (*artifact.Artifact, Row) {
	row := newRow(path, artifact.V1, Artifact)
	r, closeFile, err := capture.OpenInput(ctx, path)
	if err != nil {
		row.setVerdict(err)
		return nil, *row
	}
	defer closeFile()
	row.setVerdict(row.read(r, Artifact, isRegular(path)))
	a := row.decoded
	row.decoded = nil
	if row.Verdict != project.Accepted {
		return nil, *row
	}
	return a, *row
}

// isRegular reports whether an input is a regular file, which has an end.
func isRegular(path string) bool {
	info, err := os.Stdin.Stat()
	if path != "-" {
		info, err = os.Stat(path)
	}
	return err == nil && info.Mode().IsRegular()
}

func newRow(name string, p artifact.Profile, kind Kind) *Row {
	row := &Row{File: name, Profile: p, Findings: []finding.Finding{}}
	if kind != "" {
		row.Kind = &kind
	}
	return row
}

// setVerdict sets the verdict. The error is the one that prevented reading the input to
// its end, if any.
func (row *Row) setVerdict(err error) {
	switch {
	case err != nil:
		f, isVerdict := finding.FromError(err)
		row.Verdict, row.Findings = project.Failed, append(row.Findings, f)
		if isVerdict {
			row.Verdict = project.Malformed
		}
	case finding.Failed(row.Findings):
		row.Verdict = project.Malformed
	default:
		row.Verdict = project.Accepted
	}
}

// read reads and checks the input. It reads an input that ends to its end, even past
// the limits.
func (row *Row) read(r io.Reader, kind Kind, ends bool) error {
	if row.Profile == "" {
		row.Profile = artifact.V1
	}
	if _, err := artifact.ParseProfile(string(row.Profile)); err != nil {
		return err
	}
	if _, err := ParseKind(string(kind)); err != nil {
		return err
	}
	hash := digest.Hash()
	var size counter
	r = io.TeeReader(r, io.MultiWriter(hash, &size))
	head, err := readHead(r, artifact.MaxFileBytes+1)
	if err != nil {
		return err
	}
	// Detection reads the whole head, and is not needed for most files.
	seen := sync.OnceValue(func() fileTraits { return detectTraits(head) })
	if kind == "" {
		if kind = kindByName(row.File); kind == "" {
			kind = seen().kind
		}
		row.Kind = &kind
	}
	canonical := false
	if kind == Artifact {
		canonical = row.artifact(head, seen)
	} else {
		row.Findings, canonical, err = checkEnvelope(head, r, maxEnvelopeBytes)
		finding.Locate(head, row.Findings)
	}
	if err != nil {
		return err
	}
	if finding.Has(row.Findings, finding.TooLarge) && !ends {
		return nil
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	d := digest.Sum(hash)
	row.Digest, row.Canonical, row.Bytes = &d, &canonical, int64(size)
	if row.Findings == nil {
		row.Findings = []finding.Finding{}
	}
	return nil
}

// artifact validates a file as an artifact and reports whether it is canonical.
func (row *Row) artifact(head []byte, seen func() fileTraits) (canonical bool) {
	a, findings := artifact.Decode(head, row.Profile)
	row.Findings = findings
	if a == nil {
		if seen().record {
			row.addFinding(finding.New(finding.NotArtifact, "the file is a record (an in-toto Statement), not an artifact"))
		}
		return false
	}
	row.decoded = a
	at := diff.FirstDifference(head, artifact.Encode(a))
	if at >= 0 {
		row.addFinding(finding.New(finding.NotCanonical, "the file differs from the canonical form from this byte on").WithOffset(int64(at)))
		finding.Locate(head, row.Findings)
	}
	return at < 0
}

// addFinding adds a finding without changing the verdict.
func (row *Row) addFinding(f finding.Finding) {
	row.Findings = append(row.Findings, f)
	finding.Sort(row.Findings)
}

// kindByName returns the kind of a file by the suffix of its name, or the empty kind.
func kindByName(path string) Kind {
	switch {
	case strings.HasSuffix(path, record.ArtifactSuffix):
		return Artifact
	case strings.HasSuffix(path, record.EnvelopeSuffix):
		return Envelope
	}
	return ""
}

// readHead reads up to limit bytes. It doubles its buffer as needed, which wastes less
// memory than io.ReadAll for a file of 8 MiB.
func readHead(r io.Reader, limit int) ([]byte, error) {
	head := make([]byte, 0, 8<<10)
	for len(head) < limit {
		if len(head) == cap(head) {
			head = append(make([]byte, 0, min(2*cap(head), limit)), head...)
		}
		n, err := r.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return head, nil
}

// fileTraits are properties of the first bytes of a file that determine its kind.
type fileTraits struct {
	kind   Kind
	record bool // it has the _type of an in-toto Statement, as records do
}

// eventStream matches the beginning of an event stream: a field or a comment.
var eventStream = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(data|event|id|retry)?:`) })

// detectTraits distinguishes an artifact from an envelope. An envelope begins with an
// object that has the key type, with a list or with an event stream.
func detectTraits(head []byte) fileTraits {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(text, []byte("{")) {
		if bytes.HasPrefix(text, []byte("[")) || eventStream().Match(text) {
			return fileTraits{kind: Envelope}
		}
		return fileTraits{kind: Artifact}
	}
	d := strictjson.NewDecoder(text)
	d.AllowDuplicates()
	if _, err := d.Next(); err != nil {
		return fileTraits{kind: Artifact}
	}
	l := fileTraits{kind: Artifact}
	for {
		t, err := d.Next()
		if err != nil || t.Kind == strictjson.ObjectEnd {
			return l
		}
		name, _ := d.Text(t)
		value, err := d.Next()
		switch {
		case err != nil:
			if name == "type" {
				l.kind = Envelope
			}
			return l
		case name == "type":
			l.kind = Envelope
		case name == "_type":
			text := strictjson.Value{Kind: value.Kind, Raw: d.Bytes(value)}
			l.record = text.Is(record.StatementType)
		}
		if _, err := d.Skip(value); err != nil {
			return l
		}
	}
}

// checkEnvelope checks a bounded envelope in any framing. The canonical form has three
// lines without white space around them. If the file exceeds the limit, that is its
// only finding.
func checkEnvelope(head []byte, rest io.Reader, limit int64) ([]finding.Finding, bool, error) {
	framing := capture.DetectFraming(head)
	spelling := &lineChecker{}
	r := io.TeeReader(io.MultiReader(bytes.NewReader(head), rest), spelling)
	splitter := capture.NewSplitter(&limitedReader{r, limit, limit}, framing)
	findings, err := envelope.Check(&limitedFrames{splitter, maxEvents})
	if f, ok := err.(finding.Finding); ok && f.Code == finding.TooLarge {
		return []finding.Finding{f}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if how := strictjson.DetectCompression(head); how != "" {
		for i, f := range findings {
			findings[i] = f.WithHint("the file begins as %s: %s", how, strictjson.DecompressHint)
		}
	}
	findings = append(findings, splitter.Findings()...)
	finding.Sort(findings)
	return findings, framing == capture.NDJSON && spelling.canonical() && !finding.Failed(findings), nil
}

// limitedReader reads an envelope up to a limit. If there is more, Read returns a
// finding as its error.
type limitedReader struct {
	r           io.Reader
	limit, left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, finding.New(finding.TooLarge, "the file is larger than %d bytes", l.limit).WithHint(hint.FreezeEnvelope)
	}
	return n, err
}

// limitedFrames returns the events of an envelope up to a limit.
type limitedFrames struct {
	envelope.Frames
	left int
}

func (c *limitedFrames) Next() (*capture.Frame, error) {
	f, err := c.Frames.Next()
	if c.left--; err == nil && c.left < 0 {
		err = finding.New(finding.TooLarge, "the file contains more than %d events", maxEvents).WithHint(hint.FreezeEnvelope)
	}
	return f, err
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// lineChecker checks whether each line written to it begins and ends with a brace.
type lineChecker struct {
	last    byte
	invalid bool
}

func (l *lineChecker) Write(p []byte) (int, error) {
	for _, c := range p {
		atStart := l.last == 0 || l.last == '\n'
		if atStart && c != '{' || c == '\n' && l.last != '}' || c == '\r' {
			l.invalid = true
		}
		l.last = c
	}
	return len(p), nil
}

func (l *lineChecker) canonical() bool { return !l.invalid && l.last == '\n' }
