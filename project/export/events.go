package export

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
)

// Events are the events of an import, complete and in order. They are kept in an
// unnamed temporary file, so that an import of any size takes little memory and leaves
// no file behind.
type Events struct {
	run    assay.Run
	file   *os.File
	w      *bufio.Writer
	places []place
	ids    []string // run ids, if each event has its own
	// trimmed counts the strings that were trimmed, and unknown the artifacts whose
	// origin is unknown. incomplete counts the artifacts whose snapshots lack streamed
	// messages, and lacking counts these messages.
	trimmed, unknown, incomplete, lacking int
	// unsigned counts the receipts that state no signature although keys are trusted.
	unsigned int
	// maxEvents and maxBytes bound the events of one bundle.
	maxEvents, maxBytes int
	left                []string // temporary names that could not be removed
	writing             func(step Step, events int)
}

// place is the place of an event's data in the temporary file.
type place struct {
	end int64
	typ string
}

func newEvents(run assay.Run) (*Events, error) {
	f, err := atomicfile.CreateUnnamed("")
	if err != nil {
		return nil, err
	}
	return &Events{run: run, file: f, w: bufio.NewWriterSize(f, 256<<10), maxEvents: assay.MaxEvents, maxBytes: assay.MaxEventsBytes}, nil
}

// Close removes the temporary file.
func (e *Events) Close() error { return e.file.Close() }

// Findings returns notes about the events and about the files written.
func (e *Events) Findings() []finding.Finding {
	found := []finding.Finding{}
	if e.trimmed > 0 {
		found = append(found, finding.New(finding.TextTrimmed, "leading and trailing white space was removed from %d strings, as Assay's mapping does", e.trimmed))
	}
	if e.unknown > 0 {
		found = append(found, finding.New(finding.OriginUnknown, "%d of the artifacts have no record; whether their snapshots were emitted or built is unknown", e.unknown))
	}
	if e.incomplete > 0 {
		found = append(found, finding.New(finding.SnapshotLacksText, "according to the records, %d of the snapshots lack streamed text (%s)", e.incomplete, project.FormatStreamedCount(e.lacking)).WithHint(hint.KeepRecords))
	}
	if e.unsigned > 0 {
		found = append(found, finding.New(finding.SignatureMissing, "%d of the receipts state no signature, because no trusted key has signed the record", e.unsigned).WithSeverity(finding.Warning))
	}
	for _, name := range e.left {
		found = append(found, finding.Leftover(name))
	}
	return found
}

// Len returns the number of events.
func (e *Events) Len() int { return len(e.places) }

func (e *Events) add(event assay.Event, from *imported) error {
	if e.run.ID == "" {
		e.ids = append(e.ids, RunID(from.row.Artifact))
	}
	e.trimmed += from.trimmed
	if from.unsigned {
		e.unsigned++
	}
	if from.row.Origin == nil {
		e.unknown++
	}
	if from.missing > 0 {
		e.incomplete++
		e.lacking += from.missing
	}
	e.places = append(e.places, place{e.start(len(e.places)) + int64(len(event.Data)), event.Type})
	_, err := e.w.Write(event.Data)
	return atomicfile.WrapUnnamed("", err)
}

// progressEvery is the number of events between two calls of Settings.Writing.
const progressEvery = 1024

// progress calls Settings.Writing for the first event, some others and the last one.
func (e *Events) progress(step Step, events int) {
	if e.writing != nil && (events == 1 || events%progressEvery == 0 || events == e.Len()) {
		e.writing(step, events)
	}
}

// start returns the offset of an event's data.
func (e *Events) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return e.places[i-1].end
}

// slice returns the events with indexes from <= i < to. The data of an event is valid
// until the next one. If the context ends, the sequence ends with its cause.
func (e *Events) slice(ctx context.Context, from, to int) assay.Events {
	return func(yield func(assay.Event, error) bool) {
		if err := e.w.Flush(); err != nil {
			yield(assay.Event{}, atomicfile.WrapUnnamed("", err))
			return
		}
		start := e.start(from)
		r := bufio.NewReaderSize(io.NewSectionReader(e.file, start, e.start(to)-start), 256<<10)
		var data []byte
		for i := from; i < to; i++ {
			n := int(e.places[i].end - e.start(i))
			if cap(data) < n {
				data = make([]byte, n)
			}
			data = data[:n]
			err := context.Cause(ctx)
			if err == nil {
				_, err = io.ReadFull(r, data)
			}
			e.progress(StepWriting, i+1)
			if !yield(assay.Event{Type: e.places[i].typ, Data: data}, err) || err != nil {
				return
			}
		}
	}
}

// WriteLines writes the events as lines. The events of one run are numbered from 0. If
// each event has its own run, its number is 0.
func (e *Events) WriteLines(ctx context.Context, w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	run := e.run
	var line []byte
	sequence := 0
	for event, err := range e.slice(ctx, 0, e.Len()) {
		if err != nil {
			return err
		}
		if e.ids != nil {
			run.ID = e.ids[sequence]
			line = event.AppendLine(line[:0], run, 0)
		} else {
			line = event.AppendLine(line[:0], run, sequence)
		}
		sequence++
		if _, err := buffered.Write(line); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
