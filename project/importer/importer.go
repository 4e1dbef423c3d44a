// Package importer takes frozen artifacts, with the records beside them, into
// Assay: as lines of events, or as bundles of them. It is to p20export what
// Assay's own importers are to other sources.
//
// It writes all of an import or nothing, and must hold no rule of the floors
// below it.
package importer

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
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/digest"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// Settings choose the form of an import.
type Settings struct {
	// Run is what the events share. Its ID may be empty where RunID gives one
	// to each artifact.
	Run assay.Run
	// Receipt chooses the receipt form, which says where an artifact came from.
	// Records are then those of the artifacts, in their order; without any they
	// are looked for beside the artifacts.
	Receipt bool
	Records []string
	// Progress is told how many artifacts were read. It may be nil.
	Progress func(artifacts int)
}

// Row is the refusal of one artifact.
type Row struct {
	Artifact string            `json:"artifact"`
	Record   *string           `json:"record"`
	Verdict  freeze.Verdict    `json:"verdict"`
	Origin   *project.Origin   `json:"origin"`
	Findings []finding.Finding `json:"findings"`
}

// RunID returns the run id of an artifact that is imported alone: that of
// Assay's mapping, made of the file's name without its last extension.
func RunID(path string) string {
	base := filepath.Base(path)
	return "import-ag-ui-" + strings.TrimSuffix(base, filepath.Ext(base))
}

// Artifacts returns the paths with each directory replaced by the artifacts in
// it, those freeze would have named so, in byte order. What is below it is not
// looked at.
func Artifacts(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			all = append(all, path) // what is wrong with it is said when it is read
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), freeze.ArtifactSuffix) {
				all = append(all, filepath.Join(path, e.Name()))
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("the directory %s holds no *%s", path, freeze.ArtifactSuffix)
		}
	}
	return all, nil
}

// Import reads artifacts into events. Each that is refused or cannot be read is
// reported, and there are no events then: whoever imports a hundred wants a
// hundred, or to know which one is missing. The caller closes the events.
func Import(ctx context.Context, paths []string, s Settings, report func(Row)) (*Events, error) {
	if len(s.Records) > 0 && len(s.Records) != len(paths) {
		return nil, fmt.Errorf("%d records are given for %d artifacts", len(s.Records), len(paths))
	}
	events, err := newEvents(s.Run)
	if err != nil {
		return nil, err
	}
	whole := true
	for i, path := range paths {
		if err := context.Cause(ctx); err != nil {
			return nil, errors.Join(err, events.Close())
		}
		record := freeze.RecordPath(path)
		if len(s.Records) > 0 {
			record = s.Records[i]
		}
		one := imported{row: Row{Artifact: path, Findings: []finding.Finding{}}, record: record}
		event, err := one.event(s)
		switch {
		case err != nil:
			report(one.refused(err))
			whole = false
		case whole:
			if err := events.add(event, path); err != nil {
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

// imported is an artifact on its way into an event.
type imported struct {
	row    Row
	record string // its path
}

// errRefused says that the reasons are in the row.
var errRefused = errors.New("refused")

// refused completes the row of an artifact that err keeps out.
func (i *imported) refused(err error) Row {
	i.row.Verdict = freeze.Refused
	if err != errRefused {
		f, isVerdict := freeze.Explain(err)
		if !isVerdict {
			i.row.Verdict = freeze.Failed
		}
		i.row.Findings = append(i.row.Findings, f)
	}
	return i.row
}

func (i *imported) event(s Settings) (assay.Event, error) {
	var none assay.Event
	data, err := freeze.ReadArtifact(i.row.Artifact)
	if err != nil {
		return none, err
	}
	of := digest.Of(data)
	record, err := i.itsRecord(of, s.Receipt)
	if err != nil {
		return none, err
	}
	a, found := artifact.Decode(data, artifact.Assay)
	if a == nil {
		i.row.Findings = advised(found, record)
		return none, errRefused
	}
	if !s.Receipt {
		return assay.Placeholder(a), nil
	}
	ref := filepath.Base(i.row.Artifact)
	if err := assay.CheckArtifactRef(ref); err != nil {
		return none, finding.New(finding.ArtifactRefUnfit, "a receipt names the artifact's file: %v", err)
	}
	p := record.Predicate.Projection
	return assay.Receipt{
		ArtifactRef:    ref,
		ArtifactDigest: of,
		Reducer:        fmt.Sprintf("%s@%d", p.Name, p.Version),
		Origin:         string(p.Origin),
		ImportedAt:     s.Run.Time,
	}.Event(a), nil
}

// itsRecord reads the record of an artifact of that digest. The placeholder form
// does without one; but where there is one it has no place to say that the
// snapshot was built, and a record of other bytes says that something was
// changed.
func (i *imported) itsRecord(of digest.Digest, receipt bool) (*project.Record, error) {
	record, err := freeze.ReadRecord(i.record)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !receipt:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, finding.New(finding.RecordAbsent, "%s is not there; a receipt states what the record says", finding.Escape(i.record)).Hinting("give it with --record, or freeze the capture again")
	}
	i.row.Record = &i.record
	if err != nil {
		return nil, err
	}
	if stated := record.Subject[0].Digest.SHA256; stated != of.Hex() {
		return nil, finding.New(finding.RecordOfAnother, "%s states the digest sha256:%s; the artifact has %s", finding.Escape(filepath.Base(i.record)), finding.Escape(stated), of)
	}
	i.row.Origin = &record.Predicate.Projection.Origin
	if *i.row.Origin == project.Built && !receipt {
		return nil, finding.New(finding.ReceiptNeeded, "its record says that the message snapshot was built, not emitted by the run; a placeholder event has no place to say so")
	}
	return record, nil
}

// advised gives the findings of the Assay profile the next step that freeze has
// for the artifact, if it has one: it cuts error texts and takes one of several
// snapshots, and shortens nothing else.
func advised(found []finding.Finding, record *project.Record) []finding.Finding {
	advice := advise(found, record)
	for i, f := range found {
		if strings.HasPrefix(f.Rule, "P") {
			found[i] = f.Hinting("%s", advice)
		}
	}
	return found
}

func advise(found []finding.Finding, record *project.Record) string {
	p := project.Projection{Name: project.EmittedSnapshot}
	snapshots := 0
	if record != nil {
		p, snapshots = record.Predicate.Projection, record.Predicate.Families.Count(envelope.MessagesSnapshot)
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
		return fmt.Sprintf("freeze the capture again with --profile assay --projection %s: it cuts error texts at the limit, and records that", p.Name)
	case !outside("P2 P3 P4 P5 P6 P7") && snapshots > 1:
		return fmt.Sprintf("the run emitted %d snapshots; freeze another one of them with --profile assay --projection %s --snapshot N", snapshots, project.EmittedSnapshotText)
	}
	return "no option of freeze makes it fit: only error texts are ever cut, and Assay's mapping takes no more"
}
