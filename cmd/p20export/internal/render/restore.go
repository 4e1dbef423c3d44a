package render

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store/restore"
)

// LogRestoreRow is the row of a restored conversation.
type LogRestoreRow struct {
	Tenant   string `json:"tenant"`
	ThreadID string `json:"thread_id"`
	// Position is the position of the last entry that the conversation includes.
	Position int64 `json:"position"`
	// Run is the position of RUN_STARTED of the run to which the conversation belongs, or
	// null.
	Run *int64 `json:"run"`
	// RunID is the id of that run, or null.
	RunID *string `json:"run_id"`
	// Messages has the messages, as AG-UI defines them.
	Messages jsontext.Value `json:"messages"`
	// State is null also if patches left no value.
	State jsontext.Value `json:"state"`
	// Known reports whether an event or a request set the state; if not, patches apply to
	// an empty object.
	Known            bool           `json:"known"`
	PendingToolCalls []string       `json:"pending_tool_calls"`
	Interrupts       jsontext.Value `json:"interrupts"`
	// Used has the positions of RUN_STARTED of the runs from which the conversation was
	// restored.
	Used []int64 `json:"used"`
	// Entries is the number of entries that were read.
	Entries  int64             `json:"entries"`
	Findings []finding.Finding `json:"findings"`
}

// Restored prints a restored conversation.
func (p *Printer) Restored(t *restore.Thread, r *restore.Result) {
	if p.format == JSON {
		p.json(newRestoreRow(r))
		return
	}
	p.line("%s", shownKey(r.Key))
	if r.Run != nil {
		p.line("  run       \t%s, at %s", shownID(r.Run.ID), strconv.FormatInt(r.Run.Position, 10))
	}
	last := ", the last"
	if r.Position < t.Last {
		last = "; the last is " + strconv.FormatInt(t.Last, 10)
	}
	p.line("  as of     \tposition %s%s", strconv.FormatInt(r.Position, 10), last)
	p.line("  from      \t%s, %s", Plural(len(r.Used), "run", "runs"), Counted(r.Entries, "entry", "entries"))
	p.messagesText(r.Messages, r.PendingToolCalls, r.Interrupts)
	p.stateText(r.State, r.StateKnown)
	p.findings(r.Findings)
}

func newRestoreRow(r *restore.Result) LogRestoreRow {
	row := LogRestoreRow{
		Tenant: r.Key.Tenant, ThreadID: r.Key.Thread, Position: r.Position, Messages: r.Messages, State: orNull(r.State), Known: r.StateKnown,
		PendingToolCalls: append([]string{}, r.PendingToolCalls...), Interrupts: orNull(r.Interrupts), Used: []int64{}, Entries: r.Entries,
		Findings: append([]finding.Finding{}, r.Findings...),
	}
	if r.Run != nil {
		row.Run, row.RunID = &r.Run.Position, optional(r.Run.ID)
	}
	for _, n := range r.Used {
		row.Used = append(row.Used, n.Position)
	}
	return row
}
