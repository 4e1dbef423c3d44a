package restore

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
)

// A Row is a restored conversation in JSON.
type Row struct {
	ThreadID string `json:"thread_id"`
	// Position is the position of the last entry that the conversation includes.
	Position int64 `json:"position"`
	// Run is the position of RUN_STARTED of the run to which the conversation belongs, or
	// null.
	Run *int64 `json:"run"`
	// RunID is the id of that run, or null.
	RunID *string `json:"run_id"`
	// End says how that run ended, also if it did after Position, or is null.
	End *lineage.End `json:"end"`
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

// Row returns the row of the conversation.
func (r *Result) Row() Row {
	row := Row{
		ThreadID: r.Key.Thread, Position: r.Position, Messages: r.Messages, State: orNull(r.State), Known: r.StateKnown,
		PendingToolCalls: append([]string{}, r.PendingToolCalls...), Interrupts: orNull(r.Interrupts), Used: []int64{}, Entries: r.Entries,
		Findings: append([]finding.Finding{}, r.Findings...),
	}
	if r.Run != nil {
		row.Run, row.End = &r.Run.Position, &r.Run.End
		if r.Run.ID != "" {
			row.RunID = &r.Run.ID
		}
	}
	for _, n := range r.Used {
		row.Used = append(row.Used, n.Position)
	}
	return row
}

// orNull returns null for an empty text.
func orNull(text []byte) jsontext.Value {
	if len(text) == 0 {
		return jsontext.Value("null")
	}
	return text
}
