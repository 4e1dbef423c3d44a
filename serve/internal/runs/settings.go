package runs

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// Settings are the settings of Runs.
type Settings struct {
	Log store.Log
	// Caller sends requests to agents. It may be nil if there are none.
	Caller *proxy.Caller
	// Hub follows the threads of active runs.
	Hub *attach.Hub
	// Policy is what Begin does while another run of the thread is active. Empty means
	// Replace.
	Policy Policy
	// AppendTimeout is the time after which a run is closed whose producer is silent. Zero
	// means DefaultAppendTimeout.
	AppendTimeout time.Duration
	Limits        Limits
	Logger        *slog.Logger
	Observer      Observer
}

// Policy says what a request does while another run of its thread is active.
type Policy string

// The policies.
const (
	// Replace cancels the other run if no client that sent its request is connected. While
	// one is, the request is refused.
	Replace Policy = "replace"
	// Refuse refuses the request.
	Refuse Policy = "refuse"
	// Queue makes the request wait.
	Queue Policy = "queue"
)

// Limits are the limits of runs. Zero values mean the defaults.
type Limits struct {
	// Runs limits the active runs of this process.
	Runs int
	// TenantRuns limits those of one tenant. Zero means Runs.
	TenantRuns int
	// Queued limits the requests that wait for their thread, and QueuedBytes their size.
	Queued      int
	QueuedBytes int64
	// Threads limits the threads of a tenant. Zero means no limit. Threads that several
	// processes create at the same time can exceed it.
	Threads int64
	// StoreTimeout limits the time that a run waits for a log that fails.
	StoreTimeout time.Duration
	// EndTimeout limits the time for which an agent may keep its response open, and its
	// thread busy, after its runs have ended.
	EndTimeout time.Duration
}

// The default limits.
const (
	DefaultRuns         = 1000
	DefaultQueued       = 1000
	DefaultQueuedBytes  = 64 << 20
	DefaultStoreTimeout = 5 * time.Minute
	DefaultEndTimeout   = 10 * time.Second
)

// DefaultAppendTimeout is Settings.AppendTimeout if that is zero.
const DefaultAppendTimeout = 30 * time.Second

// maxThreadQueue limits the requests that wait for one thread. A client that sends more has
// lost control of them.
const maxThreadQueue = 16

// normalize checks the limits and replaces zero values with the defaults.
func (l *Limits) normalize() error {
	if l.Runs < 0 || l.TenantRuns < 0 || l.Queued < 0 || l.QueuedBytes < 0 || l.Threads < 0 || l.StoreTimeout < 0 || l.EndTimeout < 0 {
		return errors.New("a limit of runs is negative")
	}
	l.Runs = cmp.Or(l.Runs, DefaultRuns)
	l.TenantRuns = cmp.Or(l.TenantRuns, l.Runs)
	l.Queued = cmp.Or(l.Queued, DefaultQueued)
	l.QueuedBytes = cmp.Or(l.QueuedBytes, DefaultQueuedBytes)
	l.StoreTimeout = cmp.Or(l.StoreTimeout, DefaultStoreTimeout)
	l.EndTimeout = cmp.Or(l.EndTimeout, DefaultEndTimeout)
	return nil
}

// Observer receives events about runs. Its methods are called concurrently and must not
// block.
type Observer interface {
	RunEnded(outcome Outcome, took time.Duration)
	RunsQueued(delta int)
	Appended(entries int, took time.Duration)
	AppendFailed(error)
	OrphansClosed(n int)
}

// Outcome says how a run ended for the process that ran it.
type Outcome string

// The outcomes.
const (
	// Finished means that the response of the agent ended, and no run was open in it.
	Finished Outcome = "finished"
	// Refused means that the agent could not be reached, or did not answer with events.
	Refused Outcome = "refused"
	// UpstreamEnded means that the response ended while a run was open.
	UpstreamEnded Outcome = "upstream_ended"
	// Cancelled means that the run was cancelled, by any process.
	Cancelled Outcome = "cancelled"
	// TimedOut means that the run took too long.
	TimedOut Outcome = "timeout"
	// ShutDown means that this process was stopped.
	ShutDown Outcome = "shutdown"
	// Lost means that this process lost the lease of the thread.
	Lost Outcome = "lost"
	// NotStored means that the log failed for too long, or that the thread was deleted.
	NotStored Outcome = "not_stored"
)

// Errors of Begin and Cancel.
var (
	ErrDifferent = errors.New("the run was started with another request")
	ErrDraining  = errors.New("the server is shutting down")
	ErrRuns      = errors.New("too many runs are active")
	ErrQueue     = errors.New("too many requests wait for their thread")
	ErrThreads   = errors.New("the tenant has too many threads")
	ErrNoRun     = errors.New("there is no such run")
	ErrRunEnded  = errors.New("the run has ended")
	ErrCancelled = errors.New("the run was cancelled")
	ErrNoEvents  = errors.New("the agent did not start a run")
)

// BusyError reports that another run of the thread is active.
type BusyError struct {
	// RunID is the run id of the active request. It is empty if it is not known.
	RunID string
}

func (e *BusyError) Error() string { return "another run of the thread is active" }
