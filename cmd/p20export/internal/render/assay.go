package render

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/export"
)

// OutputRow is the result of writing an output file. The keys after the verdict are
// null if the file was not written.
type OutputRow struct {
	File    string          `json:"file"`
	Verdict project.Verdict `json:"verdict"`
	// RunID is the run id of the events. It is null if they have different ones.
	RunID  *string `json:"run_id"`
	Events *int    `json:"events"`
	// RunRoot identifies a bundle; it is null for lines.
	RunRoot  *digest.Digest    `json:"run_root"`
	Digest   *digest.Digest    `json:"digest"`
	Bytes    *int64            `json:"bytes"`
	Findings []finding.Finding `json:"findings"`
}

// ImportFailure prints why an artifact was not imported.
func (p *Printer) ImportFailure(row export.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), row.Artifact)
	if row.Record != nil {
		p.Line("  record    \t%s", *row.Record)
	}
	p.provenance(row.Origin, row.FromRequest, nil)
	p.Findings(row.Findings)
}

// Output prints the result of writing an output file.
func (p *Printer) Output(row OutputRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), row.File)
	if row.Verdict == project.Written {
		if row.RunID != nil {
			p.Line("  run id    \t%s", *row.RunID)
		}
		if row.RunRoot != nil {
			p.Line("  run root  \t%s", string(*row.RunRoot))
		}
		p.Line("  events    \t%s", humanize.Grouped(int64(*row.Events)))
		p.Line("  file      \t%s  %s", humanize.Bytes(*row.Bytes), string(*row.Digest))
	}
	p.Findings(row.Findings)
}

// ImportFindings prints the findings about events for which no row is printed.
func (p *Printer) ImportFindings(found []finding.Finding) {
	if p.format == Text {
		p.Findings(found)
	}
}

// Bundle prints the result of verifying a bundle.
func (p *Printer) Bundle(row export.BundleRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), row.Bundle)
	if row.Digest != nil {
		p.Line("  run id    \t%s", *row.RunID)
		p.Line("  run root  \t%s", *row.RunRoot)
		p.Line("  producer  \t%s %s (%s)", row.Producer.Name, row.Producer.Version, row.Producer.Git)
		p.Line("  events    \t%s, %s", humanize.Grouped(int64(*row.Events)), humanize.Bytes(*row.EventsBytes))
		p.Line("  file      \t%s  %s", humanize.Bytes(*row.Bytes), string(*row.Digest))
	}
	p.Findings(row.Findings)
	if row.Verdict == project.Verified {
		p.Line("  The bundle is intact; the contents of its events are not interpreted.")
	}
}

// entryRow is the row of an event of a bundle.
type entryRow struct {
	Sequence    uint64          `json:"seq"`
	ID          string          `json:"id"`
	EventType   string          `json:"event_type"`
	Source      string          `json:"source"`
	Time        string          `json:"time"`
	Producer    export.Producer `json:"producer"`
	ContentHash string          `json:"content_hash"`
	Data        jsontext.Value  `json:"data"`
}

func newEntryRow(e assay.Entry) entryRow {
	return entryRow{e.Seq, e.ID, e.Type, e.Source, e.Time, export.Producer{Name: e.Producer.Name, Version: e.Producer.Version, Git: e.Producer.Git}, e.ContentHash, e.Data}
}

const entryLine = "  %6v  %-11s  %-7s  %-23s  %8v  %-12s  %-20s  %s"

// BundleEventsHeader prints the header of the table of a bundle's events.
func (p *Printer) BundleEventsHeader() {
	p.Note("")
	p.Note(entryLine, "seq", "form", "origin", "projection", "messages", "end", "AG-UI run", "artifact")
}

// BundleEvent prints the run that an event describes, or only the event's type if
// another program wrote it. It returns the first write error.
func (p *Printer) BundleEvent(e assay.Entry) error {
	if p.format == JSON {
		p.json(newEntryRow(e))
	} else {
		p.entry(e)
	}
	return p.err
}

func (p *Printer) entry(e assay.Entry) {
	forms := map[string]string{assay.PlaceholderType: "placeholder", assay.ReceiptType: "receipt"}
	var data struct {
		Origin   string `json:"origin"`
		Reducer  string `json:"reducer_version"`
		Artifact string `json:"source_artifact_ref"`
		Observed struct {
			RunID    string           `json:"run_id_ref"`
			Messages []jsontext.Value `json:"messages"`
			End      string           `json:"terminal_event"`
		} `json:"observed"`
	}
	form := forms[e.Type]
	if form == "" || json.Unmarshal(e.Data, &data, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		p.Unwrapped("  %6v  %s", e.Seq, e.Type)
		return
	}
	p.Unwrapped(entryLine, e.Seq, form, cmp.Or(data.Origin, "-"), cmp.Or(data.Reducer, "-"), len(data.Observed.Messages), data.Observed.End, data.Observed.RunID, cmp.Or(data.Artifact, "-"))
}

// NewOutputs returns the rows of the files that were written.
func NewOutputs(outputs []export.Output, found []finding.Finding) (rows []OutputRow) {
	for _, o := range outputs {
		rows = append(rows, OutputRow{o.File, project.Written, o.RunID, &o.Events, o.RunRoot, &o.Digest, &o.Bytes, found})
	}
	return rows
}

// NewFailedOutput returns the row of a file that was not written because of err.
func NewFailedOutput(file string, err error) OutputRow {
	f, _ := finding.FromError(err)
	row := OutputRow{File: file, Verdict: project.Failed, Findings: []finding.Finding{f}}
	if f.Code == finding.BundleLimit {
		row.Verdict = project.Refused
	}
	return row
}
