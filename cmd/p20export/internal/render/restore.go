package render

import (
	"strconv"

	"github.com/p20export/p20export/store/restore"
)

// LogRestoreRow is the row of a restored conversation.
type LogRestoreRow struct {
	Tenant string `json:"tenant"`
	restore.Row
}

// Restored prints a restored conversation.
func (p *Printer) Restored(t *restore.Thread, r *restore.Result) {
	if p.format == JSON {
		p.json(LogRestoreRow{r.Key.Tenant, r.Row()})
		return
	}
	p.Line("%s", shownKey(r.Key))
	if r.Run != nil {
		p.Line("  run       \t%s, at %s, %s", shownID(r.Run.ID), strconv.FormatInt(r.Run.Position, 10), r.Run.End)
	}
	last := ", the last"
	if r.Position < t.Last {
		last = "; the last is " + strconv.FormatInt(t.Last, 10)
	}
	p.Line("  as of     \tposition %s%s", strconv.FormatInt(r.Position, 10), last)
	p.Line("  from      \t%s, %s", Plural(len(r.Used), "run", "runs"), Counted(r.Entries, "entry", "entries"))
	p.messagesText(r.Messages, r.PendingToolCalls, r.Interrupts)
	p.stateText(r.State, r.StateKnown)
	p.Findings(r.Findings)
}
