package freeze

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
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// Kind is what a file claims to be.
type Kind string

// The kinds of file that can be validated.
const (
	ArtifactKind Kind = "artifact"
	EnvelopeKind Kind = "envelope"
)

// ParseKind returns the kind of that name; the empty name means to tell.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case "", ArtifactKind, EnvelopeKind:
		return k, nil
	}
	return "", errors.New("the kinds are artifact and envelope")
}

// ValidateRow is the outcome of validating one file.
type ValidateRow struct {
	File    string           `json:"file"`
	Kind    *Kind            `json:"kind"`
	Profile artifact.Profile `json:"profile"`
	Verdict Verdict          `json:"verdict"`
	// Digest is of the file's bytes as they are.
	Digest *digest.Digest `json:"digest"`
	// Canonical says whether the file is in the one spelling of its kind.
	Canonical *bool             `json:"canonical"`
	Findings  []finding.Finding `json:"findings"`
	// Bytes is how long the file is; it counts where there is a digest.
	Bytes int64 `json:"-"`
}

// Validate judges one file as an artifact or a bounded envelope. An empty kind
// is told from the file's name, else from how it begins (look). "-" is standard
// input.
//
// Findings in the first artifact.MaxFileBytes of the file, which are held in
// memory, have lines, columns and excerpts; what lies beyond in an envelope has
// its offset alone.
func Validate(ctx context.Context, path string, p artifact.Profile, kind Kind) ValidateRow {
	row := ValidateRow{File: path, Profile: p, Findings: []finding.Finding{}}
	if kind != "" {
		row.Kind = &kind
	}
	if err := row.validate(ctx, kind); err != nil {
		f, isVerdict := Explain(err)
		row.Verdict, row.Findings = Failed, append(row.Findings, f)
		if isVerdict {
			row.Verdict = Malformed
		}
		return row
	}
	row.Verdict = Accepted
	if finding.Failed(row.Findings) {
		row.Verdict = Malformed
	}
	return row
}

func (row *ValidateRow) validate(ctx context.Context, kind Kind) error {
	r, closeFile, err := OpenInput(ctx, row.File)
	if err != nil {
		return err
	}
	defer closeFile()
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
	if kind == ArtifactKind {
		canonical = row.artifact(head, seen)
	} else {
		row.Findings, canonical, err = checkEnvelope(head, r)
		finding.Locate(head, row.Findings)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return err
	}
	d := digest.Sum(hash)
	row.Digest, row.Canonical, row.Bytes = &d, &canonical, int64(size)
	if f, built := builtBeside(row.File, d); built {
		row.inform(f)
	}
	if row.Findings == nil {
		row.Findings = []finding.Finding{}
	}
	return nil
}

// artifact judges a file as an artifact and reports whether it is canonical.
func (row *ValidateRow) artifact(head []byte, seen func() looks) (canonical bool) {
	a, findings := artifact.Decode(head, row.Profile)
	row.Findings = findings
	if a == nil {
		if seen().record {
			row.inform(finding.New(finding.NotArtifact, "the file is a record (an in-toto Statement), not an artifact"))
		}
		return false
	}
	at := differenceAt(head, artifact.Encode(a))
	if at >= 0 {
		row.inform(finding.New(finding.NotCanonical, "the canonical form differs from here on").WithOffset(int64(at)))
		finding.Locate(head, row.Findings)
	}
	return at < 0
}

// inform adds what is worth knowing and no fault.
func (row *ValidateRow) inform(f finding.Finding) {
	row.Findings = append(row.Findings, f)
	finding.Sort(row.Findings)
}

// kindByName is the kind that freeze would have written under a name.
func kindByName(path string) Kind {
	switch {
	case strings.HasSuffix(path, ArtifactSuffix):
		return ArtifactKind
	case strings.HasSuffix(path, envelopeSuffix):
		return EnvelopeKind
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
var eventStream = regexp.MustCompile(`^(data|event|id|retry)?:`)

// look tells an artifact from an envelope: an envelope begins with an object
// that has the key type, with a list, or as an event stream does.
func look(head []byte) looks {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(text, []byte("{")) {
		if bytes.HasPrefix(text, []byte("[")) || eventStream.Match(text) {
			return looks{kind: EnvelopeKind}
		}
		return looks{kind: ArtifactKind}
	}
	d := strictjson.NewDecoder(text)
	d.Loose()
	if _, err := d.Next(); err != nil {
		return looks{kind: ArtifactKind}
	}
	l := looks{kind: ArtifactKind}
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
				l.kind = EnvelopeKind
			}
			return l
		case name == "type":
			l.kind = EnvelopeKind
		case name == "_type":
			text := strictjson.Value{Kind: value.Kind, Raw: d.Bytes(value)}
			l.record = text.Is(project.StatementType)
		}
		if _, err := d.Skip(value); err != nil {
			return l
		}
	}
}

// builtBeside looks for the record beside an artifact or envelope, and says so
// when it states of these very bytes that their snapshot was built.
func builtBeside(path string, d digest.Digest) (finding.Finding, bool) {
	name, ok := strings.CutSuffix(path, ArtifactSuffix)
	if !ok {
		if name, ok = strings.CutSuffix(path, envelopeSuffix); !ok {
			return finding.Finding{}, false
		}
	}
	data, err := readBounded(name+recordSuffix, project.MaxRecordBytes)
	if err != nil {
		return finding.Finding{}, false
	}
	record, err := project.DecodeRecord(data)
	if err != nil || record.Predicate.Projection.Origin != project.Built {
		return finding.Finding{}, false
	}
	for _, s := range record.Subject {
		if s.Digest.SHA256 == d.Hex() {
			return finding.New(finding.SnapshotBuilt, "the record beside it says that its message snapshot was built, not emitted"), true
		}
	}
	return finding.Finding{}, false
}

// checkEnvelope checks a bounded envelope in any framing. It is canonical as
// three lines without white space around them.
func checkEnvelope(head []byte, rest io.Reader) ([]finding.Finding, bool, error) {
	framing := capture.DetectFraming(head)
	spelling := &lines{}
	r := io.TeeReader(io.MultiReader(bytes.NewReader(head), rest), spelling)
	splitter := capture.NewSplitter(r, framing)
	findings, err := envelope.Check(splitter)
	if err != nil {
		return nil, false, err
	}
	findings = append(findings, splitter.Findings()...)
	finding.Sort(findings)
	return findings, framing == capture.NDJSON && spelling.canonical() && !finding.Failed(findings), nil
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

// OpenInput opens a file, or standard input as "-", for reading that the context
// can end. The caller calls the function when it is done.
func OpenInput(ctx context.Context, path string) (io.Reader, func(), error) {
	if path == "-" {
		return capture.Interruptible(ctx, os.Stdin), func() {}, nil
	}
	f, err := capture.OpenFile(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}
