// Package compact makes streams of AG-UI events shorter. If a stream keeps the sequence
// rules and ends each message and call inside its run, a client shows the same texts,
// calls and results after the compacted stream; docs/compaction.md lists what differs.
//
// A Compactor takes events as *envelope.Event. [envelope.ReadEvent] makes one from JSON
// text, and envelope/event writes that text for typed events:
//
//	e, err := envelope.ReadEvent(event.Append(nil, &event.TextMessageEnd{MessageID: "m1"}))
//	if err == nil {
//		err = c.Event(e)
//	}
//
// The literal envelope.Event{Type: t, Data: text} is an event without members.
//
// The package knows which events of a stream belong together. It must not know where
// events come from or how they are written, and what it makes is not evidence of a run.
package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
)

// Mode says which events are merged, and how.
type Mode string

const (
	// ModeStream merges the deltas of each text message and each tool call, as the
	// Stream Compaction page of AG-UI describes it and compactEvents of
	// @ag-ui/client 0.0.52 does it.
	ModeStream Mode = "stream"
	// ModeClient does what compactEvents of @ag-ui/client 1.0.0 does. It also
	// merges the state events of a run into one and keeps metadata.
	ModeClient Mode = "client"
	// ModeSnapshot does what the serialization proposal of AG-UI describes: the
	// events of messages and of the state become one MESSAGES_SNAPSHOT and one
	// STATE_SNAPSHOT at the end of each run.
	ModeSnapshot Mode = "snapshot"
)

// Modes returns the names of all modes.
func Modes() []string { return []string{string(ModeStream), string(ModeClient), string(ModeSnapshot)} }

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	if all := Modes(); !slices.Contains(all, name) {
		last := len(all) - 1
		return "", fmt.Errorf("mode %s is not known; it is %s or %s", finding.Quote(name), strings.Join(all[:last], ", "), all[last])
	}
	return Mode(name), nil
}

// Options configure a Compactor.
type Options struct {
	// Mode is one of the modes of this package. If it is empty, it is ModeStream.
	Mode Mode
	// Dialect is the dialect of JSON Patch of ModeSnapshot. The default is RFC6902;
	// ModeClient always uses that of the client.
	Dialect reduce.Dialect
	// Report, if not nil, is called with warnings. ModeClient has them for patches that
	// do not apply, and for messages and calls that it emits after the end of their run.
	// ModeSnapshot has them for events without an effect on messages or state, for
	// messages of an input that differ from the history, and for parents that the stream
	// does not have.
	Report func(finding.Finding)
}

// A Compactor compacts one stream of events.
type Compactor struct {
	mode compaction
	err  error
}

// compaction is the work of one mode.
type compaction interface {
	event(e *envelope.Event) error
	end() error
}

// New returns a Compactor that passes the JSON text of each event of the compacted
// stream to emit. The text is valid during the call. An event that did not change
// has the bytes that it had. New panics if the mode is neither empty nor one of Modes.
func New(o Options, emit func(data []byte) error) *Compactor {
	return newCompactor(o, emit, defaultLimits)
}

// newCompactor is New with the given limits.
func newCompactor(o Options, emit func(data []byte) error, l limits) *Compactor {
	switch o.Mode {
	case "", ModeStream, ModeClient:
		return &Compactor{mode: newGrouper(o, emit, l)}
	case ModeSnapshot:
		return &Compactor{mode: newSnapshots(o, emit, l)}
	}
	panic("compact: unknown mode " + string(o.Mode))
}

// Seed sets the conversation and the state with which the stream begins: those of a
// request (RunAgentInput), as the client that sent it has them. They continue in the
// first run, even if it has a parentRunId. Without Seed, messages that RUN_STARTED does not
// repeat are missing. Only ModeSnapshot uses it. It must be called at most once, before
// Event. The error is a finding if the request exceeds a limit of this package; a
// request that is not valid is reported to Options.Report and has no effect.
func (c *Compactor) Seed(request []byte) error {
	if s, ok := c.mode.(*snapshots); ok && c.err == nil {
		c.err = s.seed(request)
	}
	return c.err
}

// Event adds the next event of the stream. It does not retain e. The error is a
// finding if the stream exceeds a limit of this package, or else the error of emit.
// Later calls return the same error.
func (c *Compactor) Event(e *envelope.Event) error {
	if c.err == nil {
		c.err = c.mode.event(e)
	}
	return c.err
}

// End ends the stream and emits what waited for its end. It must be called once,
// after the last event.
func (c *Compactor) End() error {
	if c.err == nil {
		c.err = c.mode.end()
	}
	return c.err
}
