package render

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/internal/timetext"
	"github.com/p20export/p20export/store"
)

// LogThreadRow is the row of a thread of a log.
type LogThreadRow struct {
	Tenant   string `json:"tenant"`
	ThreadID string `json:"thread_id"`
	// Entries is the number of entries, which is also the last position.
	Entries int64 `json:"entries"`
	// Runs is the number of runs.
	Runs int64 `json:"runs"`
	// Bytes is the size of the data of all entries.
	Bytes int64 `json:"bytes"`
	// Packed is the number of entries that are packed.
	Packed int64 `json:"packed"`
	// Sealed is the position up to which the thread is sealed, or 0.
	Sealed int64 `json:"sealed"`
	// CreatedAt is the time of the first append.
	CreatedAt string `json:"created_at"`
	// UpdatedAt is the time of the last append.
	UpdatedAt string `json:"updated_at"`
	// DeletedAt is the time at which the thread was deleted, or null. The other keys then
	// describe what was deleted.
	DeletedAt *string `json:"deleted_at"`
}

// LogRunRow is the row of a run of a log.
type LogRunRow struct {
	Tenant   string `json:"tenant"`
	ThreadID string `json:"thread_id"`
	// RunID is null if RUN_STARTED has no runId that can be looked up.
	RunID       *string `json:"run_id"`
	ParentRunID *string `json:"parent_run_id"`
	// Stream is the id of the stream that the run is in.
	Stream string `json:"stream"`
	// Input is the position of the request, or null.
	Input *int64 `json:"input"`
	// Start is the position of RUN_STARTED.
	Start int64 `json:"start"`
	// Last is the position of the last event so far.
	Last int64 `json:"last"`
	// Events is the number of events of the run.
	Events int64 `json:"events"`
	// Bytes is the size of these events.
	Bytes int64 `json:"bytes"`
	// StartedAt is the time at which the first event arrived, or null.
	StartedAt *string `json:"started_at"`
	// LastAt is the time at which the last event arrived, or null.
	LastAt *string      `json:"last_at"`
	End    store.RunEnd `json:"end"`
}

// LogEntryRow is the row of an entry of a log.
type LogEntryRow struct {
	// Position is the position in the thread.
	Position int64 `json:"position"`
	// Run is the position of RUN_STARTED of the run that the entry belongs to, or null.
	Run *int64 `json:"run"`
	// Stream is the id of the stream that the entry is in.
	Stream string     `json:"stream"`
	Kind   store.Kind `json:"kind"`
	// Event is the type of the event, or null.
	Event *string `json:"event"`
	// ArrivedAt is the time of arrival, or null.
	ArrivedAt *string `json:"arrived_at"`
	// Data is the data of the entry if it is valid JSON of at most 9,999 levels, or null.
	Data jsontext.Value `json:"data"`
	// Text is the data of the entry if Data is null, or null. Invalid UTF-8 is
	// replaced by U+FFFD.
	Text *string `json:"text"`
}

// LogStatRow is the row of the size of a log.
type LogStatRow struct {
	// Store is the URL of the log, without a password.
	Store string `json:"store"`
	// Threads is the number of threads that are not deleted.
	Threads int64 `json:"threads"`
	// Deleted is the number of deleted threads.
	Deleted int64 `json:"deleted"`
	// Runs is the number of runs.
	Runs int64 `json:"runs"`
	// Entries is the number of entries.
	Entries int64 `json:"entries"`
	// Bytes is the size of the data of all entries.
	Bytes int64 `json:"bytes"`
	// Packed is the number of entries that are packed.
	Packed int64 `json:"packed"`
	// PackedBytes is the size of the data of these entries.
	PackedBytes int64 `json:"packed_bytes"`
	// StoredBytes is the compressed size of that data.
	StoredBytes int64 `json:"stored_bytes"`
	// Seals is the number of seals of threads that are not deleted.
	Seals int64 `json:"seals"`
	// Sealed is the number of entries that they are about.
	Sealed int64 `json:"sealed"`
	// SealBytes is the size of the seals, and of the hashes that make further ones faster.
	SealBytes int64 `json:"seal_bytes"`
	// Size is the size of the log on disk.
	Size int64 `json:"size"`
}

// LogPackRow is the row of a thread whose entries were packed.
type LogPackRow struct {
	Tenant   string `json:"tenant"`
	ThreadID string `json:"thread_id"`
	// Entries is the number of entries that were packed by this command.
	Entries int64 `json:"entries"`
	// Bytes is the size of the data of these entries.
	Bytes int64 `json:"bytes"`
	// StoredBytes is the compressed size of that data.
	StoredBytes int64 `json:"stored_bytes"`
}

// LogDeleteRow is the row of a thread that was deleted.
type LogDeleteRow LogThreadRow

func newThreadRow(t store.Thread) LogThreadRow {
	return LogThreadRow{
		t.Tenant, t.Thread, t.Last, t.Runs, t.Bytes, t.Packed, t.Sealed, artifact.FormatTime(t.CreatedAt), artifact.FormatTime(t.UpdatedAt), timetext.Optional(t.DeletedAt),
	}
}

// number returns a cell with a number, which is aligned to the right.
func number(n int64) cell { return cell{Text: fmt.Sprintf("%9s", humanize.Grouped(n))} }

// heading returns the first row of a table.
func heading(names ...string) (row []cell) {
	for _, name := range names {
		row = append(row, cell{Text: name})
	}
	return row
}

// LogThread prints a thread of a list. With tenants, the list has the threads of several.
func (p *Printer) LogThread(t store.Thread, tenants bool) {
	if p.format == JSON {
		p.json(newThreadRow(t))
		return
	}
	updated := cell{Text: seconds(t.UpdatedAt)}
	if !t.DeletedAt.IsZero() {
		updated = cell{Text: "deleted " + seconds(t.DeletedAt), Colour: red}
	}
	row := []cell{{Text: shownID(t.Thread)}, number(t.Last), number(t.Runs), number(t.Bytes), number(t.Sealed), updated}
	head := heading("THREAD", "  ENTRIES", "     RUNS", "    BYTES", "   SEALED", "UPDATED")
	if tenants {
		row, head = append([]cell{{Text: shownID(t.Tenant)}}, row...), append(heading("TENANT"), head...)
	}
	p.List(head, row)
}

// LogRun prints a run of a list. With threads, the list has the runs of several, one thread
// after the other.
func (p *Printer) LogRun(r store.Run, threads bool) {
	if p.format == JSON {
		p.json(LogRunRow{
			r.Tenant, r.Thread, optional(r.ID), optional(r.Parent), r.Stream, optional(r.Input), r.Start, r.Last, r.Entries, r.Bytes,
			timetext.Optional(r.StartedAt), timetext.Optional(r.LastAt), r.End,
		})
		return
	}
	parent := ""
	if r.Parent != "" {
		parent = shownID(r.Parent)
	}
	head := heading("RUN", "PARENT", "       AT", "   EVENTS", "    BYTES", "END", "STARTED")
	if threads && (p.thread == nil || *p.thread != r.Key) {
		p.thread = &r.Key
		p.List(head, []cell{{Text: "thread " + shownKey(r.Key)}})
	}
	p.List(head, []cell{{Text: shownID(r.ID)}, {Text: parent}, number(r.Start), number(r.Entries), number(r.Bytes), {Text: string(r.End), Colour: endColour(r.End)}, {Text: seconds(r.StartedAt)}})
}

// endColour returns the colour of the end of a run.
func endColour(end store.RunEnd) string {
	switch end {
	case store.Finished:
		return green
	case store.Failed, store.Cut:
		return red
	}
	return yellow
}

// LogEntry prints an entry of a log as a row.
func (p *Printer) LogEntry(e *store.Entry) {
	row := LogEntryRow{Position: e.Position, Run: optional(e.Run), Stream: e.Stream, Kind: e.Kind, Event: optional(e.Type), ArrivedAt: timetext.Optional(e.Arrived)}
	if strictjson.Nests(e.Data) {
		row.Data = e.Data
		p.json(row)
		return
	}
	name, err := typeName(row)
	if err == nil {
		err = p.rows.WriteText(name, row, e.Data)
	}
	p.err = errors.Join(p.err, err)
}

// LogStat prints the size of a log.
func (p *Printer) LogStat(address string, s store.Stat) {
	if p.format == JSON {
		p.json(LogStatRow{address, s.Threads, s.Deleted, s.Runs, s.Entries, s.Bytes, s.Packed, s.PackedBytes, s.StoredBytes, s.Seals, s.Sealed, s.SealBytes, s.Size})
		return
	}
	p.Line("%s", address)
	threads := humanize.Grouped(s.Threads)
	if s.Deleted > 0 {
		threads += ", and " + humanize.Grouped(s.Deleted) + " deleted"
	}
	p.Line("  threads   \t%s", threads)
	p.Line("  runs      \t%s", humanize.Grouped(s.Runs))
	p.Line("  entries   \t%s, %s", humanize.Grouped(s.Entries), humanize.Bytes(s.Bytes))
	p.Line("  packed    \t%s", packed(s.Packed, s.PackedBytes, s.StoredBytes))
	sealed := humanize.Grouped(s.Sealed)
	if s.Seals > 0 {
		sealed += ", by " + Counted(s.Seals, "seal", "seals") + " of " + humanize.Bytes(s.SealBytes)
	}
	p.Line("  sealed    \t%s", sealed)
	p.Line("  size      \t%s", humanize.Bytes(s.Size))
}

// packed formats how many entries were packed, and their sizes before and after.
func packed(entries, bytes, stored int64) string {
	if entries == 0 {
		return "0"
	}
	text := humanize.Grouped(entries) + ", " + humanize.Bytes(bytes) + " in " + humanize.Bytes(stored)
	if bytes > 0 {
		text += " (" + strconv.FormatFloat(float64(stored)*100/float64(bytes), 'f', 1, 64) + "%)"
	}
	return text
}

// LogPacked prints what was packed of a thread.
func (p *Printer) LogPacked(key store.Key, r store.Packed) {
	if p.format == JSON {
		p.json(LogPackRow{key.Tenant, key.Thread, r.Entries, r.Bytes, r.Stored})
		return
	}
	p.Line("%s \t%s", painted(fmt.Sprintf("%-9s", "packed")), shownKey(key))
	p.Line("  entries   \t%s", packed(r.Entries, r.Bytes, r.Stored))
}

// LogDeleted prints a thread that was deleted. If before is set, it was deleted before.
func (p *Printer) LogDeleted(t store.Thread, before bool) {
	if p.format == JSON {
		p.json(LogDeleteRow(newThreadRow(t)))
		return
	}
	p.Line("%s \t%s", p.Paint(green, fmt.Sprintf("%-9s", "deleted")), shownKey(t.Key))
	when := "at " + seconds(t.DeletedAt)
	if before {
		when = "earlier, " + when
	}
	p.Line("  deleted   \t%s", when)
	p.Line("  erased    \t%s, %s, %s", Counted(t.Last, "entry", "entries"), Counted(t.Runs, "run", "runs"), humanize.Bytes(t.Bytes))
	if t.Sealed > 0 {
		p.Line("  seal      \tthe last one remains: it has digests of the ids and of what was deleted")
	}
	p.Line("  remains   \tthe ids of tenant and thread, these numbers and the times, so that nothing can be appended to the thread")
}

// shownKey returns a key for text.
func shownKey(k store.Key) string {
	if k.Tenant == "" {
		return shownID(k.Thread)
	}
	return shownID(k.Thread) + " of the tenant " + shownID(k.Tenant)
}

// LogEvent prints an event of a log with a framing.
func (p *Printer) LogEvent(e *store.Entry, framing capture.Framing) {
	data := e.Data
	if bytes.IndexByte(data, '\r') >= 0 || framing == capture.NDJSON && bytes.IndexByte(data, '\n') >= 0 {
		data = onOneLine(data)
	}
	if framing == capture.NDJSON {
		p.eventLine(data)
		return
	}
	text := capture.AppendSSE(nil, strconv.FormatInt(e.Position, 10), data)
	for line := range bytes.SplitSeq(text[:len(text)-1], []byte("\n")) {
		p.eventLine(line)
	}
}

// onOneLine returns the data of an event without line breaks: JSON without space between its
// tokens, and any other text as a JSON string.
func onOneLine(data []byte) []byte {
	if jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true)) {
		return strictjson.OneLine(data)
	}
	quoted, _ := jsontext.AppendQuote(nil, bytes.ToValidUTF8(data, []byte("\ufffd"))) // cannot fail: the text is valid
	return quoted
}

// eventLine prints a line of an event. On a terminal, it escapes what that could act on.
func (p *Printer) eventLine(line []byte) {
	if p.terminal {
		line = []byte(finding.Printable(string(line)))
	}
	p.w.Write(line)
	p.w.WriteByte('\n')
}
