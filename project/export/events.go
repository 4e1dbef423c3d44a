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

// Events are the events of an import, complete and in order. They wait in a
// temporary file that has no name, so that an import of any size takes little
// memory and leaves nothing behind.
type Events struct {
	run    assay.Run
	file   *os.File
	w      *bufio.Writer
	places []place
	ids    []string // of the runs, where each event has its own
	// trimmed and unknown count the strings that were trimmed and the artifacts
	// whose origin is not known; incomplete and lacking count the artifacts whose
	// snapshots lack streamed text, and the messages that they lack.
	trimmed, unknown, incomplete, lacking int
	// most is how many events one bundle holds, and mostBytes how many bytes of
	// them.
	most, mostBytes int
	left            []string // temporary names that could not be removed
}

// place is where the data of an event are.
type place struct {
	end int64
	typ string
}

func newEvents(run assay.Run) (*Events, error) {
	f, err := atomicfile.CreateUnnamed("")
	if err != nil {
		return nil, err
	}
	return &Events{run: run, file: f, w: bufio.NewWriterSize(f, 256<<10), most: assay.MaxEvents, mostBytes: assay.MaxEventsBytes}, nil
}

// Close gives back what the events take.
func (e *Events) Close() error { return e.file.Close() }

// Findings says what is worth knowing of the events that were made, and of the
// files they were written to.
func (e *Events) Findings() []finding.Finding {
	found := []finding.Finding{}
	if e.trimmed > 0 {
		found = append(found, finding.New(finding.TextTrimmed, "white space at the ends of %d of the artifacts' strings was left out, as Assay's mapping does", e.trimmed))
	}
	if e.unknown > 0 {
		found = append(found, finding.New(finding.OriginUnknown, "%d of the artifacts came without a record; whether their snapshots were emitted or built is not known", e.unknown))
	}
	if e.incomplete > 0 {
		found = append(found, finding.New(finding.SnapshotLacksText, "the records of %d of the artifacts name %s that their snapshots lack", e.incomplete, project.FormatStreamedCount(e.lacking)).WithHint(hint.KeepRecords))
	}
	for _, name := range e.left {
		found = append(found, finding.Leftover(name))
	}
	return found
}

// Len returns how many events there are.
func (e *Events) Len() int { return len(e.places) }

func (e *Events) add(event assay.Event, from *imported) error {
	if e.run.ID == "" {
		e.ids = append(e.ids, RunID(from.row.Artifact))
	}
	e.trimmed += from.trimmed
	if from.row.Origin == nil {
		e.unknown++
	}
	if from.lacking > 0 {
		e.incomplete++
		e.lacking += from.lacking
	}
	e.places = append(e.places, place{e.start(len(e.places)) + int64(len(event.Data)), event.Type})
	_, err := e.w.Write(event.Data)
	return atomicfile.WrapUnnamed("", err)
}

// start returns where the data of an event begin.
func (e *Events) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return e.places[i-1].end
}

// between goes through the events from one to before another. The data of one
// are overwritten by the next. It ends with the context's cause.
func (e *Events) between(ctx context.Context, from, to int) assay.Events {
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
			if !yield(assay.Event{Type: e.places[i].typ, Data: data}, err) || err != nil {
				return
			}
		}
	}
}

// WriteLines writes the events as lines. Those of one run are numbered from 0;
// where each has a run of its own it is number 0 of that.
func (e *Events) WriteLines(ctx context.Context, w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	run := e.run
	var line []byte
	sequence := 0
	for event, err := range e.between(ctx, 0, e.Len()) {
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
