// Package validate judges files as artifacts of the v1 contract or as bounded
// envelopes.
//
// It must hold no rule of either: those are in packages artifact and envelope.
package validate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
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

// Kind is what a file claims to be.
type Kind string

// The kinds of file that can be validated.
const (
	Artifact Kind = "artifact"
	Envelope Kind = "envelope"
)

// ParseKind returns the kind of that name; the empty name means to tell.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case "", Artifact, Envelope:
		return k, nil
	}
	return "", errors.New("the kinds are artifact and envelope")
}

// maxEnvelopeBytes and maxEvents bound what is read of an envelope: without them
// the reading of a stream that does not end would not end. Its three events have at
// most capture.MaxEventBytes each, and as much again is left for what stands around
// them. Events past the third are listed, as far as findings are.
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
	// Digest is of the file's bytes as they are; nil when they were not all read,
	// as of a stream past its limit.
	Digest *digest.Digest `json:"digest"`
	// Canonical says whether the file is in the one spelling of its kind.
	Canonical *bool             `json:"canonical"`
	Findings  []finding.Finding `json:"findings"`
	// Bytes is how long the file is; it counts where there is a digest.
	Bytes int64 `json:"-"`

	decoded *artifact.Artifact // of a well-formed artifact
}

// File judges one file as an artifact or a bounded envelope. An empty kind is
// told from the file's name, else from how it begins. "-" is standard
// input.
//
// An artifact or envelope whose snapshot was built, or lacks text that the run
// streamed, as the record beside it says, is reported as such. One that is well formed and is not the one that the record
// states has the verdict project.Differs.
//
// Findings in the first artifact.MaxFileBytes of the file, which are held in
// memory, have lines, columns and excerpts; those beyond, in an envelope, have
// their offset alone. A pipe or device is not read past the limit of its kind, since
// it may have no end; a regular file is read on for its digest.
func File(ctx context.Context, path string, p artifact.Profile, kind Kind) Row {
	r, closeFile, err := capture.OpenInput(ctx, path)
	if err != nil {
		row := newRow(path, p, kind)
		row.judge(err)
		return *row
	}
	defer closeFile()
	row := newRow(path, p, kind)
	row.judge(row.read(r, kind, isRegular(path)))
	if row.Digest != nil {
		row.compareRecord()
	}
	return *row
}

// Reader judges what r holds, as File does of a pipe, under a name. It reads no file
// beside it. The empty profile is artifact.V1.
func Reader(r io.Reader, name string, p artifact.Profile, kind Kind) Row {
	row := newRow(name, p, kind)
	row.judge(row.read(r, kind, false))
	return *row
}

// ReadArtifact judges one file as an artifact under artifact.V1, as File does, and
// returns what it holds: nil unless the file is accepted. It reads no record beside
// the file.
func ReadArtifact(ctx context.Context, path string) (*artifact.Artifact, Row) {
	row := newRow(path, artifact.V1, Artifact)
	r, closeFile, err := capture.OpenInput(ctx, path)
	if err != nil {
		row.judge(err)
		return nil, *row
	}
	defer closeFile()
	row.judge(row.read(r, Artifact, isRegular(path)))
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

// judge gives the verdict. The error is why the input could not be read to its
// end.
func (row *Row) judge(err error) {
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

// read reads the input and finds what is wrong with it. An input that ends is read
// to its end, whatever it is.
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
	// A look costs a pass over the file, which most files can do without.
	seen := sync.OnceValue(func() looks { return look(head) })
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

// artifact judges a file as an artifact and reports whether it is canonical.
func (row *Row) artifact(head []byte, seen func() looks) (canonical bool) {
	a, findings := artifact.Decode(head, row.Profile)
	row.Findings = findings
	if a == nil {
		if seen().record {
			row.inform(finding.New(finding.NotArtifact, "the file is a record (an in-toto Statement), not an artifact"))
		}
		return false
	}
	row.decoded = a
	at := diff.FirstDifference(head, artifact.Encode(a))
	if at >= 0 {
		row.inform(finding.New(finding.NotCanonical, "the canonical form differs from here on").WithOffset(int64(at)))
		finding.Locate(head, row.Findings)
	}
	return at < 0
}

// inform adds a finding that is no fault of the file itself.
func (row *Row) inform(f finding.Finding) {
	row.Findings = append(row.Findings, f)
	finding.Sort(row.Findings)
}

// kindByName is the kind that freeze would have written under a name.
func kindByName(path string) Kind {
	switch {
	case strings.HasSuffix(path, record.ArtifactSuffix):
		return Artifact
	case strings.HasSuffix(path, record.EnvelopeSuffix):
		return Envelope
	}
	return ""
}

// readHead reads up to limit bytes. It doubles its memory, as io.ReadAll does
// not, and so leaves little behind for a file of 8 MiB.
func readHead(r io.Reader, limit int) ([]byte, error) {
	head := make([]byte, 0, 64<<10)
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

// looks is what a file looks like before it is judged.
type looks struct {
	kind   Kind
	record bool // it has the _type of an in-toto Statement, as records do
}

// eventStream is how an event stream begins: a field or a comment.
var eventStream = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(data|event|id|retry)?:`) })

// look tells an artifact from an envelope: an envelope begins with an object
// that has the key type, with a list, or as an event stream does.
func look(head []byte) looks {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(text, []byte("{")) {
		if bytes.HasPrefix(text, []byte("[")) || eventStream().Match(text) {
			return looks{kind: Envelope}
		}
		return looks{kind: Artifact}
	}
	d := strictjson.NewDecoder(text)
	d.AllowDuplicates()
	if _, err := d.Next(); err != nil {
		return looks{kind: Artifact}
	}
	l := looks{kind: Artifact}
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

// checkEnvelope checks a bounded envelope in any framing. It is canonical as
// three lines without white space around them. A file past the limit has that
// finding alone.
func checkEnvelope(head []byte, rest io.Reader, limit int64) ([]finding.Finding, bool, error) {
	framing := capture.DetectFraming(head)
	spelling := &lines{}
	r := io.TeeReader(io.MultiReader(bytes.NewReader(head), rest), spelling)
	splitter := capture.NewSplitter(&limited{r, limit, limit}, framing)
	findings, err := envelope.Check(&counted{splitter, maxEvents})
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

// limited reads an envelope up to its limit. A byte past it is a finding, which is
// the error then.
type limited struct {
	r           io.Reader
	limit, left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, finding.New(finding.TooLarge, "the file is larger than %d bytes", l.limit).WithHint(hint.FreezeEnvelope)
	}
	return n, err
}

// counted passes on the events of an envelope up to their limit.
type counted struct {
	envelope.Frames
	left int
}

func (c *counted) Next() (capture.Frame, error) {
	f, err := c.Frames.Next()
	if c.left--; err == nil && c.left < 0 {
		err = finding.New(finding.TooLarge, "the file holds more than %d events", maxEvents).WithHint(hint.FreezeEnvelope)
	}
	return f, err
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// lines watches whether what is written through it is lines that each begin
// with a brace and end with one.
type lines struct {
	last  byte
	loose bool
}

func (l *lines) Write(p []byte) (int, error) {
	for _, c := range p {
		atStart := l.last == 0 || l.last == '\n'
		if atStart && c != '{' || c == '\n' && l.last != '}' || c == '\r' {
			l.loose = true
		}
		l.last = c
	}
	return len(p), nil
}

func (l *lines) canonical() bool { return !l.loose && l.last == '\n' }
