package serve

import (
	"time"

	"github.com/p20export/p20export/serve/internal/runs"
)

// Observer receives events about runs and readers. Its methods are called concurrently and
// must not block.
type Observer interface {
	// RunEnded is called once for each run that began.
	RunEnded(outcome Outcome, took time.Duration)
	// RunsQueued is called when the number of requests that wait for their thread changes.
	RunsQueued(delta int)
	// Appended is called when entries of a run were appended to the log.
	Appended(entries int, took time.Duration)
	// AppendFailed is called when an append failed. It is repeated.
	AppendFailed(error)
	// OrphansClosed is called when runs without an owner were closed.
	OrphansClosed(n int)

	// ThreadRewound is called when a thread that has readers lost entries in the log, or when a
	// client comes back with the id of a lost one.
	ThreadRewound()

	// Reading is called when the number of readers of a view changes.
	Reading(view View, delta int)
	// Joined is called when a reader receives its first bytes, with the time since its
	// request.
	Joined(view View, took time.Duration)
	// Delivered is called when a reader that had caught up takes events, with the time
	// since they were found in the log.
	Delivered(time.Duration)
	// Sent is called when bytes were written to a reader.
	Sent(bytes int)
	// ReaderDropped is called when a reader does not read.
	ReaderDropped()
	// Refused is called when a request is refused.
	Refused(Refusal)
}

// Outcome says how a run ended for the Server.
type Outcome = runs.Outcome

// The outcomes.
const (
	Finished      = runs.Finished
	Refused       = runs.Refused
	UpstreamEnded = runs.UpstreamEnded
	Cancelled     = runs.Cancelled
	TimedOut      = runs.TimedOut
	ShutDown      = runs.ShutDown
	Lost          = runs.Lost
	NotStored     = runs.NotStored
)

// View is a way to read a thread.
type View string

// The views.
const (
	Events  View = "events"  // all events, as the agents sent them
	Compact View = "compact" // finished runs in compacted form
	Connect View = "connect" // what a client needs to join a run
	Run     View = "run"     // the answer to the request of a run
	Streams View = "streams" // events as messages of a durable stream
)

// silent is an Observer that does nothing.
type silent struct{}

func (silent) RunEnded(Outcome, time.Duration) {}
func (silent) RunsQueued(int)                  {}
func (silent) Appended(int, time.Duration)     {}
func (silent) AppendFailed(error)              {}
func (silent) OrphansClosed(int)               {}
func (silent) ThreadRewound()                  {}
func (silent) Reading(View, int)               {}
func (silent) Joined(View, time.Duration)      {}
func (silent) Delivered(time.Duration)         {}
func (silent) Sent(int)                        {}
func (silent) ReaderDropped()                  {}
func (silent) Refused(Refusal)                 {}
