// Package facts computes what a log shows of a run besides its conversation: counts, times,
// tokens, the findings about its events, and its picture. It knows the log and the rules of
// AG-UI, and nothing of HTTP.
package facts

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/picture"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/store"
)

// Facts are what a log shows of a run. The keys are those of the HTTP interface.
type Facts struct {
	// DurationUS is the time from the arrival of the first event to that of the last, in
	// microseconds. It is nil if one of them is not known, or if the last has the earlier
	// time.
	DurationUS *int64 `json:"duration_us"`
	// Events and Bytes count the events of the run, and those that the server added.
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Types counts events by type, in the order of their first appearance. TypesMore is the
	// number of events whose types are not listed, because there are too many.
	Types     []Type `json:"types"`
	TypesMore int    `json:"types_more"`
	// Usage has the tokens that the run used, as the agent sent them with the end of the
	// run, or is nil.
	Usage jsontext.Value `json:"usage"`
	// Findings are about the events of the run, and before the first run of a stream also
	// about the events that precede it. FindingsMore is the number of those that are not
	// listed, because there are too many.
	Findings     []Finding `json:"findings"`
	FindingsMore int       `json:"findings_more"`
	Picture      Picture   `json:"picture"`
}

// Type is an event type and the number of its events.
type Type struct {
	// Type is nil for entries that are not events.
	Type   *string `json:"type"`
	Family string  `json:"family"`
	Count  int     `json:"count"`
}

// Finding is a finding about an entry.
type Finding struct {
	// Position is that of the entry, or nil if the finding is about none.
	Position *int64           `json:"position"`
	Code     finding.Code     `json:"code"`
	Rule     string           `json:"rule,omitzero"`
	Severity finding.Severity `json:"severity"`
	Message  string           `json:"message"`
	Pointer  finding.Pointer  `json:"pointer"`
	// Next is what to do, or empty.
	Next string `json:"next"`
}

// Of returns the facts of a run as far as r.Last. It reads the stream of the run from its
// first entry, because the rules of AG-UI are about whole streams. Its memory does not depend
// on the number of entries. The error is that of the log.
func Of(ctx context.Context, log store.Log, r *store.Run) (*Facts, error) {
	s, err := log.Stream(ctx, r.Key, r.Stream)
	if err != nil {
		return nil, err
	}
	c := collector{run: r, facts: &Facts{}, rules: lint.NewStream()}
	which := store.Selection{After: max(s.First, 1) - 1, To: r.Last, Bare: []store.Kind{store.Input}}
	for e, err := range log.Select(ctx, r.Key, which) {
		if err != nil {
			return nil, err
		}
		if e.Stream != r.Stream {
			continue
		}
		if e.Kind == store.Input && !c.events {
			if err := c.seed(ctx, log, e.Position); err != nil {
				return nil, err
			}
		}
		c.add(e)
	}
	return c.finish(), nil
}

// collector collects the facts of a run from the entries of its stream.
type collector struct {
	run    *store.Run
	facts  *Facts
	rules  *lint.Stream
	events bool // an event was checked
	other  bool // an earlier run of the stream was seen
	types  envelope.Counts
	sent   time.Time // when the request was sent, or zero
	time   timeline
}

// seed makes the request at a position known to the rules, which need it before the first event.
func (c *collector) seed(ctx context.Context, log store.Log, position int64) error {
	for e, err := range log.Select(ctx, c.run.Key, store.At(position)) {
		if err != nil {
			return err
		}
		c.rules.Seed(e.Data)
	}
	return nil
}

// add adds the next entry. The data of requests is not needed.
func (c *collector) add(e *store.Entry) {
	switch e.Kind {
	case store.Input:
		if e.Position == c.run.Input || c.sent.IsZero() {
			c.sent = e.Arrived
		}
	case store.Event, store.Closing:
		c.events = true
		if e.Position == c.run.Start && c.other {
			c.rules.Forget()
		}
		read := c.rules.Event(e.Position, e.Data)
		if e.Run != c.run.Start {
			c.other = c.other || e.Run != 0
			return
		}
		c.facts.Events++
		c.facts.Bytes += int64(len(e.Data))
		c.types.Add(e.Type)
		c.time.add(e, c.sent)
		if read != nil && c.facts.Usage == nil {
			c.facts.Usage = usage(read)
		}
	}
}

// maxUsage limits the size of the usage of an event, in bytes. AG-UI has an entry for each
// provider and model.
const maxUsage = 64 << 10

// usage returns a copy of the usage of an event that ends a run, or nil.
func usage(e *envelope.Event) jsontext.Value {
	if e.Type != eventnames.RunFinished && e.Type != eventnames.RunError {
		return nil
	}
	v, ok := e.Get("usage")
	if !ok || v.Kind != envelope.ArrayValue || len(v.Raw) > maxUsage {
		return nil
	}
	return jsontext.Value(v.Raw).Clone()
}

// finish returns the facts.
func (c *collector) finish() *Facts {
	f := c.facts
	f.Types = []Type{}
	for name, n := range c.types.All {
		t := Type{Family: picture.Family(name), Count: n}
		if name != "" {
			t.Type = &name
		}
		f.Types = append(f.Types, t)
	}
	f.TypesMore = c.types.Uncounted()
	f.Findings = []Finding{}
	list, more := c.rules.Findings(c.run.End != store.Open)
	for _, found := range list {
		row := Finding{Code: found.Code, Rule: found.Rule, Severity: found.Severity, Message: found.Message, Pointer: found.Pointer, Next: found.Hint}
		if found.EventIndex != nil {
			row.Position = new(int64(*found.EventIndex))
		}
		f.Findings = append(f.Findings, row)
	}
	f.FindingsMore = more
	f.DurationUS = c.time.duration()
	f.Picture = c.time.picture()
	return f
}
