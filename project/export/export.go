// Package export converts frozen artifacts and their records to Assay events, and
// writes the events as lines or bundles. It corresponds to Assay's own importers for
// other sources.
//
// An import is written completely or not at all. The package must not contain rules that
// belong to the packages that it uses.
package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

// Settings configure an import.
type Settings struct {
	// Run is the run of the events. If its ID is empty, each artifact gets its own
	// run id from the function RunID.
	Run assay.Run
	// Receipt selects the receipt form, which states where an artifact came from.
	Receipt bool
	// Records are the paths of the records, in the order of the artifacts. If there
	// are none, the records next to the artifacts are used. In that case only receipts
	// require records.
	Records []string
	// Trust says whose signatures and time-stamps the receipts state. If it is nil, they
	// state none.
	Trust *sign.Trust
	// Progress is called with the number of artifacts read so far. It may be nil.
	Progress func(artifacts int)
	// Writing is called while a file is written or a written bundle is verified, with the
	// number of events so far. A bundle is written in two passes. It may be nil.
	Writing func(step Step, events int)
}

// Step is what is done with the events of an import.
type Step string

// The steps.
const (
	StepWriting   Step = "writing"
	StepVerifying Step = "verifying"
)

// Row is the refusal of one artifact.
type Row struct {
	Artifact string            `json:"artifact"`
	Record   *string           `json:"record"`
	Verdict  project.Verdict   `json:"verdict"`
	Origin   *project.Origin   `json:"origin"`
	Findings []finding.Finding `json:"findings"`

	// FromRequest reports whether a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
}

// RunID returns the run id for a single artifact, as in Assay's mapping. The id
// contains the file name without its last extension. A dot at the beginning or the end
// of the name does not begin an extension.
func RunID(path string) string {
	base := filepath.Base(path)
	if dot := strings.LastIndexByte(base, '.'); 0 < dot && dot < len(base)-1 {
		base = base[:dot]
	}
	return "import-ag-ui-" + base
}

// RunIDError reports an invalid run id: two artifacts have the same id, or Assay does
// not accept it.
type RunIDError struct {
	ID string
	// Paths are the artifacts with this run id.
	Paths []string
	// Err is the reason why Assay does not accept the id, or nil if the id is valid
	// but not unique.
	Err error
}

// Error describes the problem with the run id.
func (e *RunIDError) Error() string {
	if len(e.Paths) > 1 {
		return fmt.Sprintf("%q and %q both have the run id %q", e.Paths[0], e.Paths[1], e.ID)
	}
	return fmt.Sprintf("%q has the invalid run id %q: %v", e.Paths[0], e.ID, e.Err)
}

// Unwrap returns e.Err, the reason why Assay does not accept the id.
func (e *RunIDError) Unwrap() error { return e.Err }

// CheckRunIDs returns a *RunIDError if the RunID of an artifact is invalid or not
// unique.
func CheckRunIDs(paths []string) error {
	seen := make(map[string]string)
	for _, path := range paths {
		id := RunID(path)
		if err := assay.CheckRunID(id); err != nil {
			return &RunIDError{ID: id, Paths: []string{path}, Err: err}
		}
		if first, taken := seen[id]; taken {
			return &RunIDError{ID: id, Paths: []string{first, path}}
		}
		seen[id] = path
	}
	return nil
}

// RepeatedError reports an artifact that is named twice.
type RepeatedError struct{ Path string }

// Error returns the message with the path.
func (e *RepeatedError) Error() string { return fmt.Sprintf("%q is named twice", e.Path) }

// FindArtifacts returns the paths, with each directory replaced by the artifacts in it
// and its subdirectories. The artifacts of a directory are sorted by path, component by
// component. FindArtifacts recognizes them by record.ArtifactSuffix.
//
// FindArtifacts does not follow symbolic links in a directory. It returns an error if an
// artifact is a symbolic link, or if a directory cannot be read or contains no artifact.
// For a repeated path, the error is a *RepeatedError.
func FindArtifacts(ctx context.Context, paths []string) ([]string, error) {
	var all []string
	seen := make(map[string]bool)
	for _, path := range paths {
		found := []string{path} // errors are reported when it is read
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if found, err = dirtree.Named(ctx, path, record.ArtifactSuffix); err != nil {
				return nil, err
			}
		}
		for _, one := range found {
			if seen[one] {
				return nil, &RepeatedError{one}
			}
			seen[one] = true
			all = append(all, one)
		}
	}
	return all, nil
}

// Import converts artifacts to events. It calls report for each artifact that is refused
// or cannot be read. If there is one, Import returns no events and no error. Otherwise
// the caller must close the events. Import returns an error for invalid settings and for
// failures of the temporary file.
func Import(ctx context.Context, paths []string, s Settings, report func(Row)) (*Events, error) {
	if len(s.Records) > 0 && len(s.Records) != len(paths) {
		return nil, fmt.Errorf("%d records are given for %d artifacts", len(s.Records), len(paths))
	}
	if err := s.Run.Check(); err != nil {
		return nil, err
	}
	if report == nil {
		report = func(Row) {}
	}
	events, err := newEvents(s.Run)
	if err != nil {
		return nil, err
	}
	events.writing = s.Writing
	whole := true
	for i, path := range paths {
		if err := context.Cause(ctx); err != nil {
			return nil, errors.Join(err, events.Close())
		}
		one := imported{row: Row{Artifact: path, Findings: []finding.Finding{}}, record: record.Path(path), required: s.Receipt || len(s.Records) > 0}
		if len(s.Records) > 0 {
			one.record = s.Records[i]
		}
		event, ok := one.event(ctx, s)
		switch {
		case !ok:
			finding.Sort(one.row.Findings)
			report(one.row)
			whole = false
		case whole:
			if err := events.add(event, &one); err != nil {
				return nil, errors.Join(err, events.Close())
			}
		}
		if s.Progress != nil {
			s.Progress(i + 1)
		}
	}
	if !whole {
		return nil, events.Close()
	}
	return events, nil
}

// imported is an artifact that is being converted to an event.
type imported struct {
	row      Row
	record   string // its path
	required bool   // the record is required
	// trimmed counts the strings that are trimmed in the event.
	trimmed int
	// missing counts the streamed messages that are missing from the snapshot
	// according to the record.
	missing int
	// unsigned means that no trusted key has signed the record.
	unsigned bool
}

// refuse adds a reason to refuse the artifact.
func (i *imported) refuse(err error) {
	f, isVerdict := finding.FromError(err)
	switch {
	case !isVerdict:
		i.row.Verdict = project.Failed
	case i.row.Verdict == "":
		i.row.Verdict = project.Refused
	}
	i.row.Findings = append(i.row.Findings, f)
}

// event returns the artifact's event. If ok is false, the row has every reason.
func (i *imported) event(ctx context.Context, s Settings) (event assay.Event, ok bool) {
	if err := record.CheckArtifactName(i.row.Artifact); err != nil {
		i.refuse(err)
		return event, false
	}
	data, err := record.ReadArtifact(i.row.Artifact)
	if err != nil {
		i.refuse(err)
		return event, false
	}
	of := digest.Of(data)
	record, stated, err := i.readRecord(of)
	if err != nil {
		i.refuse(err)
	}
	var signed *sign.Signature
	if s.Receipt && record != nil {
		signed = i.judge(ctx, stated, s.Trust)
	}
	a, found := artifact.Decode(data, artifact.Assay)
	if a == nil {
		for _, f := range withHints(found, record) {
			i.refuse(f)
		}
	}
	ref := filepath.Base(i.row.Artifact)
	switch {
	case record != nil && record.Predicate.Projection.Origin == project.Built && !s.Receipt:
		i.refuse(finding.New(finding.ReceiptNeeded, "the record states that the message snapshot was built, not emitted by the run; a placeholder event cannot express this"))
	case s.Receipt && assay.CheckArtifactRef(ref) != nil:
		i.refuse(finding.New(finding.ArtifactRefUnfit, "a receipt names the artifact's file: %v", assay.CheckArtifactRef(ref)))
	}
	if i.row.Verdict != "" {
		return event, false
	}
	i.trimmed = assay.CountTrimmed(a)
	if !s.Receipt {
		return assay.Placeholder(a), true
	}
	p := record.Predicate.Projection
	receipt := assay.Receipt{
		ArtifactRef:    ref,
		ArtifactDigest: of,
		RecordDigest:   digest.Of(stated),
		Reducer:        fmt.Sprintf("%s@%d", p.Name, p.Version),
		Origin:         string(p.Origin),
		ImportedAt:     s.Run.Time,
	}
	if signed != nil && signed.State == sign.IsSigned {
		for _, by := range signed.Signers {
			receipt.KeyIDs = append(receipt.KeyIDs, by.KeyID)
		}
		if signed.NotLaterThan != nil {
			receipt.NotLaterThan = *signed.NotLaterThan
		}
	}
	i.unsigned = s.Trust != nil && len(receipt.KeyIDs) == 0
	event = receipt.Event(a)
	if n := assay.LineLen(event.Type, len(event.Data), s.Run, assay.MaxEvents); n > assay.MaxLineBytes {
		// The profile leaves room for what a receipt states, but not for many signatures.
		i.refuse(finding.New(finding.BundleLimit, "the event has %d bytes with the ids of %d keys, and may have %d", n, len(receipt.KeyIDs), assay.MaxLineBytes).WithHint(hint.FewerKeys))
		return event, false
	}
	return event, true
}

// judge judges the signature of a record, and refuses the artifact if it is broken. Without
// trust it returns nil: an event states only what was checked.
func (i *imported) judge(ctx context.Context, stated []byte, trust *sign.Trust) *sign.Signature {
	files, err := sign.Read(i.record, len(stated), record.ReadBounded)
	if err != nil {
		i.refuse(err)
		return nil
	}
	signed, found := (&sign.Policy{Trust: trust}).Check(ctx, stated, files)
	for _, f := range found {
		if f.Severity == finding.Error {
			i.refuse(f)
		}
	}
	return signed
}

// readRecord reads the record of an artifact with the given digest. It returns nil if
// there is no record and none is required. It checks that the record states the digest
// and a projection of this program, because the event repeats these values. It also returns the
// bytes of the record.
func (i *imported) readRecord(of digest.Digest) (*record.Record, []byte, error) {
	what, stated, err := record.ReadFrom(i.record, record.ReadBounded)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(i.record); err == nil {
			return nil, nil, finding.New(finding.RecordAbsent, "%s is a broken symbolic link", finding.Escape(i.record))
		}
		if !i.required {
			return nil, nil, nil
		}
		return nil, nil, finding.New(finding.RecordAbsent, "%s does not exist, but a record is required", finding.Escape(i.record)).WithHint(hint.GiveRecord)
	}
	i.row.Record = &i.record
	if err != nil {
		return nil, nil, err
	}
	name := finding.Escape(filepath.Base(i.record))
	if stated := what.Subject[0].Digest.SHA256; stated != of.Hex() {
		return nil, nil, finding.New(finding.RecordOfAnother, "%s states the digest sha256:%s; the artifact has %s", name, finding.Escape(stated), of)
	}
	if p := what.Predicate.Projection; !project.HasVersion(p.Name, p.Version) {
		return nil, nil, finding.New(finding.ProjectionUnknown, "%s names projection %s version %d", name, finding.Quote(string(p.Name)), p.Version)
	}
	if _, err := what.Settings(); err != nil {
		return nil, nil, finding.New(finding.RecordMalformed, "%s: %s", name, finding.Escape(err.Error()))
	}
	i.missing = project.CountMissing(what.Predicate.Omissions)
	i.row.Origin, i.row.FromRequest = &what.Predicate.Projection.Origin, project.UsesRequest(what.Predicate.Omissions)
	return what, stated, nil
}

// withHints adds hints to the findings of the Assay profile. A hint says how to freeze
// the run so that the artifact satisfies the profile. Freezing can cut error texts and
// select another snapshot. It cannot shorten other texts.
func withHints(found []finding.Finding, made *record.Record) []finding.Finding {
	advice := hintFor(found, made)
	for i, f := range found {
		if strings.HasPrefix(f.Rule, "P") {
			found[i] = f.WithHint("%s", advice)
		}
	}
	return found
}

func hintFor(found []finding.Finding, made *record.Record) string {
	p := record.Projection{Name: project.EmittedSnapshot}
	snapshots := 0
	if made != nil {
		p, snapshots = made.Predicate.Projection, made.Predicate.Families.Count(envelope.MessagesSnapshot)
	}
	outside := func(rules string) bool {
		return slices.ContainsFunc(found, func(f finding.Finding) bool {
			return f.Severity == finding.Error && !slices.Contains(strings.Fields(rules), f.Rule)
		})
	}
	switch {
	case !outside("P5 P6"):
		if p.Name == project.EmittedSnapshot {
			p.Name = project.EmittedSnapshotText
		}
		return fmt.Sprintf(hint.CutErrorText, p.Name)
	case !outside("P2 P3 P4 P5 P6 P7") && snapshots > 1:
		return fmt.Sprintf(hint.ChooseSnapshot, snapshots, project.EmittedSnapshotText)
	}
	return hint.OmitArtifact
}
