package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
	"github.com/p20export/p20export/store/restore"
)

// Settings are the settings of a Server.
type Settings struct {
	// Log has the threads. With Agents it must be a store.Leaser.
	Log store.Log
	// Agents are the URLs of the agents by name. Without agents and AllowAppend, the Server
	// only reads.
	Agents map[string]*url.URL
	// Exchanges are the settings of requests to agents: captures, labels and limits. Its
	// Upstream and MaxExchanges are ignored. Without Captures, nothing is recorded, and the
	// Server has no captures to send. Timeout limits the
	// duration of a run.
	Exchanges proxy.Settings
	// Report writes a page about the capture at a path, of at most 100 MB. If it is nil, or
	// Exchanges has no Captures, the Server sends no pages.
	Report func(ctx context.Context, path string, w io.Writer) error
	// AllowAppend lets clients append the events of runs. Tokens need the scope for it.
	AllowAppend bool
	// AppendTimeout is the time after which a run is closed whose producer is silent. Zero
	// means DefaultAppendTimeout.
	AppendTimeout time.Duration
	// Policy is what a request does while another run of its thread is active. Empty means
	// Replace.
	Policy Policy
	// PassCookies passes cookies of clients to agents, and those of agents to the clients that
	// start their runs.
	PassCookies bool
	// Guard are the settings of what is checked before a request is served. Its Logger and
	// Refuse are ignored.
	Guard GuardSettings
	// Window serves the pages of package window at / and below /window/. They need no token,
	// but what they ask for does.
	Window bool
	// Restore are the options with which conversations are restored.
	Restore restore.Options
	// Limits are the limits of runs.
	Limits Limits
	// Idle is the time after which a reader without events receives a comment, so that
	// proxies do not close the connection. Zero means DefaultIdle.
	Idle time.Duration
	// PollTime is how long a poll waits for an event. The server-sent events of a durable
	// stream end after three times that, so that a cache can let readers share a connection
	// (Durable Streams §8.2). Zero means DefaultPollTime.
	PollTime time.Duration
	// ReaderTimeout is the time that a client may take to accept what is written to it.
	// Zero means DefaultReaderTimeout.
	ReaderTimeout time.Duration
	// ReaderBytes limits the memory for what readers receive: events, conversations and
	// compacted runs of all threads together. A reader for whom too little is left is
	// refused. Zero means DefaultReaderBytes.
	ReaderBytes int64
	// Logger receives messages about runs, without their content. Nil means none.
	Logger *slog.Logger
	// Observer receives events. It may be nil.
	Observer Observer
}

// Policy says what a request does while another run of its thread is active.
type Policy = runs.Policy

// The policies.
const (
	Replace = runs.Replace
	Refuse  = runs.Refuse
	Queue   = runs.Queue
)

// Limits are the limits of runs. Zero values mean the defaults.
type Limits = runs.Limits

// GuardSettings say which requests a Server accepts.
type GuardSettings = guard.Settings

// ErrTokens is in an error of New if the token file cannot be used.
var ErrTokens = guard.ErrTokens

// MinTicketKey is the least number of bytes of GuardSettings.TicketKey, and DefaultTicketTTL the
// default of GuardSettings.TicketTTL.
const (
	MinTicketKey     = guard.MinTicketKey
	DefaultTicketTTL = guard.DefaultTicketTTL
)

// The default limits of times.
const (
	DefaultIdle          = 15 * time.Second
	DefaultPollTime      = 20 * time.Second
	DefaultReaderTimeout = 30 * time.Second
)

// DefaultAppendTimeout is the time if Settings.AppendTimeout is zero.
const DefaultAppendTimeout = runs.DefaultAppendTimeout

// DefaultReaderBytes is the limit if Settings.ReaderBytes is zero.
const DefaultReaderBytes = attach.DefaultMemoryBytes

// normalize checks the settings and replaces zero values with the defaults.
func (s *Settings) normalize() error {
	if s.Log == nil {
		return errors.New("there is no log")
	}
	for name, agent := range s.Agents {
		if name == "" || agent == nil {
			return fmt.Errorf("the agent %q has no name or no URL", name)
		}
	}
	switch s.Policy {
	case "":
		s.Policy = Replace
	case Replace, Refuse, Queue:
	default:
		return fmt.Errorf("there is no policy %q", s.Policy)
	}
	if s.AppendTimeout < 0 || s.Idle < 0 || s.PollTime < 0 || s.ReaderTimeout < 0 || s.ReaderBytes < 0 {
		return errors.New("a limit is negative")
	}
	s.Idle = cmp.Or(s.Idle, DefaultIdle)
	s.PollTime = cmp.Or(s.PollTime, DefaultPollTime)
	s.ReaderTimeout = cmp.Or(s.ReaderTimeout, DefaultReaderTimeout)
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Observer == nil {
		s.Observer = silent{}
	}
	return nil
}
