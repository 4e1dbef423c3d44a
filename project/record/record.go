// Package record defines the record of a frozen run: an in-toto Statement v1 that
// states how an artifact was made, so that anyone with the capture can repeat the
// projection. It also names and reads the files of a frozen run.
//
// It must not know how a run is projected.
package record

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// The types of the statement and of its predicate.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://github.com/p20export/p20export/record/v1"
)

// MaxBytes bounds a record file. It suffices for 10,000 omissions with long pointers.
const MaxBytes = 64 << 20

// maxToolVersion bounds the length of the tool version in bytes. The tool version is
// the only value of a record that verify does not compare.
const maxToolVersion = 128

// Record states how an artifact was made, so that anyone with the capture can repeat
// the projection. It is an in-toto Statement v1.
type Record struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is a file that the record describes.
type Subject struct {
	Name   string        `json:"name"`
	Digest SubjectDigest `json:"digest"`
}

// SubjectDigest is an in-toto digest map. SHA256 has 64 lower-case hex digits.
type SubjectDigest struct {
	SHA256 string `json:"sha256"`
}

func newSubject(data []byte) Subject {
	return Subject{Digest: SubjectDigest{SHA256: digest.Of(data).Hex()}}
}

// Predicate is the content of the record.
type Predicate struct {
	Projection Projection       `json:"projection"`
	Profile    artifact.Profile `json:"profile"`
	Tool       Tool             `json:"tool"`
	Capture    Source           `json:"capture"`
	// Events are the events of the envelope. They do not include a built
	// snapshot, which is not an event of the capture.
	Events []project.Part `json:"events"`
	Times  Times          `json:"times"`
	// Omissions name the omitted content and never contain it.
	Omissions []project.Omission `json:"omissions"`
	// Families counts the run's events by type.
	Families envelope.Counts `json:"families"`
	Sizes    Sizes           `json:"sizes"`
}

// ToolName is the name of the program that writes records.
const ToolName = "p20export"

// Tool is the program that wrote the record.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Projection is the applied projection.
type Projection struct {
	Name     project.Name      `json:"name"`
	Version  int               `json:"version"`
	Snapshot project.Selection `json:"snapshot"`
	Origin   project.Origin    `json:"origin"`
}

// Source is the run that was projected.
type Source struct {
	// Digest and Bytes are those of the stored response.
	Digest digest.Digest `json:"digest"`
	Bytes  int64         `json:"bytes"`
	// Framing is sse, ndjson or json.
	Framing string `json:"framing"`
	// ManifestDigest is the digest of capture.json. A plain file has none.
	ManifestDigest digest.Digest `json:"manifest_digest,omitzero"`
	// Run is the number of the run in the capture, from 1.
	Run int `json:"run"`
}

// SourceOf returns the source for a run of a capture. The capture must have been read
// to its end.
func SourceOf(c *capture.Capture, run int) Source {
	return Source{Digest: c.Digest(), Bytes: c.Bytes(), Framing: string(c.Framing()), ManifestDigest: c.ManifestDigest(), Run: run}
}

// Times states where the time labels come from. It includes the times given by the
// operator, which verify needs to repeat the projection.
type Times struct {
	Source     project.TimeSource `json:"source"`
	StartedAt  string             `json:"started_at,omitzero"`
	FinishedAt string             `json:"finished_at,omitzero"`
}

// Sizes are byte counts.
type Sizes struct {
	CaptureBytes  int64 `json:"capture_bytes"`
	EnvelopeBytes int   `json:"envelope_bytes"`
	ArtifactBytes int   `json:"artifact_bytes"`
}

// New returns the record of a projection of a run with the settings s. The record is
// incomplete until Complete is called.
func New(out *project.Output, run *envelope.Run, s project.Settings, tool Tool) *Record {
	times := Times{Source: out.Times.Source}
	if times.Source == project.OperatorTime {
		times.StartedAt, times.FinishedAt = out.Times.StartedAt, out.Times.FinishedAt
	}
	return &Record{
		Type:          StatementType,
		Subject:       []Subject{newSubject(out.Bytes), newSubject(out.Envelope)},
		PredicateType: PredicateType,
		Predicate: Predicate{
			Projection: Projection{Name: s.Projection, Version: s.Version, Snapshot: s.Snapshot, Origin: out.Origin},
			Profile:    s.Profile,
			Tool:       tool,
			Capture:    Source{Run: run.Number},
			Events:     out.Parts,
			Times:      times,
			Omissions:  out.Omissions,
			Families:   run.Families,
			Sizes:      Sizes{EnvelopeBytes: len(out.Envelope), ArtifactBytes: len(out.Bytes)},
		},
	}
}

// ArtifactDigest returns the digest of the artifact.
func (r *Record) ArtifactDigest() digest.Digest {
	return digest.Prefix + digest.Digest(r.Subject[0].Digest.SHA256)
}

// Size returns an estimate of the memory that the record needs, in bytes.
func (r *Record) Size() int {
	size := 2 << 10
	for _, o := range r.Predicate.Omissions {
		size += 128 + len(o.Pointer)
	}
	return size
}

// Decode decodes a record. It accepts only the canonical form.
func Decode(data []byte) (*Record, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes; the limit is %d", len(data), MaxBytes)
	}
	if how := strictjson.DetectCompression(data); how != "" {
		return nil, fmt.Errorf("the file begins as %s; %s", how, strictjson.DecompressHint)
	}
	r := new(Record)
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, strictjson.Explain(err, "a record")
	}
	switch {
	case r.Type != StatementType:
		return nil, errors.New("_type is not that of an in-toto Statement v1")
	case r.PredicateType != PredicateType:
		return nil, errors.New("predicateType is not that of a record v1")
	case len(r.Predicate.Tool.Version) > maxToolVersion:
		return nil, errors.New("/predicate/tool/version is too long")
	case len(r.Subject) != 2:
		return nil, errors.New("the subjects are not an artifact and an envelope")
	}
	again, err := r.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, errors.New("the record is not in canonical form")
	}
	return r, nil
}

// Settings returns the settings that repeat the projection. It returns an error if
// this program has no such projection, for example because project.HasVersion reports
// false.
func (r *Record) Settings() (project.Settings, error) {
	p := r.Predicate
	s := project.Settings{Projection: p.Projection.Name, Version: p.Projection.Version}
	if want := s.Projection.Origin(); p.Projection.Origin != want {
		return s, fmt.Errorf("the origin is %q; the snapshot of %s is %s", p.Projection.Origin, s.Projection, want)
	}
	var err error
	if s.Snapshot, err = project.ParseSelection(string(p.Projection.Snapshot)); err != nil {
		return s, err
	}
	if s.Profile, err = artifact.ParseProfile(string(p.Profile)); err != nil {
		return s, err
	}
	if p.Times.Source == project.OperatorTime {
		if s.Operator, err = project.NewOperatorTimes(p.Times.StartedAt, p.Times.FinishedAt); err != nil {
			return s, err
		}
	}
	return s, s.Normalize()
}

// Complete sets the source of the run and the names of the two files.
func (r *Record) Complete(source Source, artifactName, envelopeName string) {
	r.Subject[0].Name, r.Subject[1].Name = artifactName, envelopeName
	r.Predicate.Capture = source
	r.Predicate.Sizes.CaptureBytes = source.Bytes
}

// EqualExceptTool reports whether two records are equal except for the tool version.
func (r *Record) EqualExceptTool(other *Record) (bool, error) {
	mine, theirs := *r, *other
	mine.Predicate.Tool.Version, theirs.Predicate.Tool.Version = "", ""
	a, err := mine.Encode()
	if err != nil {
		return false, err
	}
	b, err := theirs.Encode()
	return bytes.Equal(a, b), err
}
