package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/serve/window"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// A Server is a handler that serves the threads of a log and runs agents.
type Server struct {
	settings Settings
	hub      *attach.Hub
	caller   *proxy.Caller
	guard    *guard.Guard
	guarded  http.Handler
	window   http.Handler // nil without the window
	routes   []route
	// runs is nil before Start, and if the Server only reads.
	runs     atomic.Pointer[runs.Runs]
	draining atomic.Bool
	warned   atomic.Int64 // the time of the last warning about the log
	answers  atomic.Int64 // bytes of large answers that are being written
	// streams counts the responses with events that are being sent.
	streams counter
	// heavy limits the requests that build a lineage, a conversation or a list of entries in
	// memory, proofs those that build a proof, which may have to read a whole thread, exports
	// those that send a thread, and reports those that make a report page.
	heavy, proofs, exports, reports chan struct{}
	walkers                         walkers
	exporting                       tenants // that export, also while they wait for a place
}

// maxHeavy is the number of answers of each of these kinds that are built at the same time.
const maxHeavy = 8

// New returns a Server.
func New(s Settings) (*Server, error) {
	if err := s.normalize(); err != nil {
		return nil, err
	}
	v := &Server{settings: s, heavy: make(chan struct{}, maxHeavy), proofs: make(chan struct{}, maxHeavy), exports: make(chan struct{}, maxHeavy), reports: make(chan struct{}, maxReports)}
	v.routes = v.allRoutes()
	v.walkers = walkers{log: s.Log, options: s.Restore, byKey: map[store.Key]*walker{}}
	s.Guard.Logger, s.Guard.Refuse, s.Guard.TicketThread = s.Logger, v.refuseGuarded, ticketThread
	var err error
	if v.guard, err = guard.New(s.Guard); err != nil {
		return nil, err
	}
	v.guarded = v.guard.Wrap(http.HandlerFunc(v.route))
	if s.Window {
		v.window = v.guard.CheckHost(window.Handler())
	}
	if _, ok := s.Log.(store.Leaser); !ok && v.writes() {
		return nil, errors.New("the log has no leases, which runs need")
	}
	if len(s.Agents) > 0 {
		s.Exchanges.MaxExchanges = cmp.Or(s.Limits.Runs, runs.DefaultRuns) // each run has one
		if v.caller, err = proxy.NewCaller(s.Exchanges); err != nil {
			return nil, err
		}
	}
	v.hub = attach.New(s.Log, attach.Settings{MemoryBytes: s.ReaderBytes, Idle: s.Idle, Input: s.Restore.Input, Behind: s.Restore.Behind, Delivered: s.Observer.Delivered, Rewound: v.rewound})
	return v, nil
}

// rewound says that the log was rewound.
func (s *Server) rewound(key store.Key) {
	s.settings.Observer.ThreadRewound()
	s.settings.Logger.Error("the log was rewound: it is an older copy, or its server lost the last transactions; readers of the thread have to begin again", "tenant", key.Tenant, "thread", key.Thread)
}

// writes reports whether the Server does more than read.
func (s *Server) writes() bool { return len(s.settings.Agents) > 0 || s.settings.AllowAppend }

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.window != nil && window.Has(r.URL.Path) {
		s.window.ServeHTTP(w, r)
		return
	}
	s.guarded.ServeHTTP(w, r)
}

// CheckHost returns a handler for another address of the program, such as that of metrics,
// that refuses the hosts that s refuses. If other machines may connect, it also accepts IP
// addresses.
func (s *Server) CheckHost(h http.Handler) http.Handler { return s.guard.CheckHost(h) }

// Start takes the leases of the log, closes the runs that have no owner, and makes the agents
// available. The error is store.ErrLeased if another process has the leases. If the Server only
// reads, Start does nothing.
func (s *Server) Start(ctx context.Context) error {
	if !s.writes() {
		return nil
	}
	r, err := runs.New(ctx, runs.Settings{
		Log: s.settings.Log, Caller: s.caller, Hub: s.hub, Policy: s.settings.Policy, Limits: s.settings.Limits, AppendTimeout: s.settings.AppendTimeout,
		Logger: s.settings.Logger, Observer: s.settings.Observer,
	})
	if err != nil {
		return err
	}
	s.runs.Store(r)
	return nil
}

// Check returns nil if the Server can do its work: the log and its leases answer, and the
// Server does not drain. It writes nothing.
func (s *Server) Check(ctx context.Context) error {
	if s.draining.Load() {
		return runs.ErrDraining
	}
	r := s.runs.Load()
	if s.writes() && r == nil {
		return errStarting
	}
	// Any id will do.
	if _, err := s.settings.Log.Thread(ctx, store.Key{Thread: "check"}); err != nil && !errors.Is(err, store.ErrNoThread) {
		return err
	}
	if r == nil {
		return nil
	}
	return r.Check(ctx)
}

var errStarting = errors.New("the server is starting")

// Stats describes what a Server does at a moment.
type Stats struct {
	// Runs is the number of active runs.
	Runs int
	// Threads and Readers count the threads that are followed, and who follows them, and
	// Bytes is the memory that Settings.ReaderBytes limits. Each active run follows its thread.
	Threads, Readers int
	Bytes            int64
}

// Stats returns what s does.
func (s *Server) Stats() Stats {
	hub := s.hub.Stats()
	stats := Stats{Threads: hub.Threads, Readers: hub.Readers, Bytes: hub.Bytes}
	if r := s.runs.Load(); r != nil {
		stats.Runs = r.Active()
	}
	return stats
}

// DrainError reports that Drain had to end runs.
type DrainError struct {
	Ended  int // runs that were ended, and closed in the log
	Unsure int // captures that were not closed in time
}

func (e *DrainError) Error() string {
	return fmt.Sprintf("%d runs were ended, and %d captures were not closed", e.Ended, e.Unsure)
}

// Drain refuses new runs and waits for the active ones. When ctx is done, it ends and closes
// them. Then it ends all readers, which can join another process. The error is a *DrainError
// if runs were ended.
func (s *Server) Drain(ctx context.Context) error {
	s.draining.Store(true)
	defer s.endReaders()
	r := s.runs.Load()
	if r == nil {
		return nil
	}
	e := DrainError{Ended: r.Drain(ctx)}
	var captures *proxy.DrainError
	if s.caller != nil && errors.As(s.caller.Drain(ctx), &captures) {
		e.Unsure = captures.Unsure
	}
	if e != (DrainError{}) {
		return &e
	}
	return nil
}

// lastEvents is the time that readers have to receive the last events.
const lastEvents = 2 * time.Second

// endReaders ends all readers when they have what the log has, or lastEvents have passed. The
// runs of this process have ended, but their last events may be on the way.
func (s *Server) endReaders() {
	defer s.hub.Close()
	ctx, cancel := context.WithTimeout(context.Background(), lastEvents)
	defer cancel()
	s.hub.Finish(ctx)
	s.streams.wait(ctx)
}

// Close ends everything at once and gives back the leases. Call Drain first. It does not
// close the log.
func (s *Server) Close() error {
	s.draining.Store(true)
	var err error
	if r := s.runs.Swap(nil); r != nil {
		err = r.Close()
	}
	s.hub.Close()
	return err
}
