package proxy

import (
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// Settings are the settings of a Proxy.
type Settings struct {
	// Upstream is the http or https URL of the server that requests are passed to, without
	// user info, query and fragment. The path of each request is appended to its path.
	Upstream *url.URL
	// Captures is the directory in which each recorded exchange gets a directory.
	Captures *os.Root
	// Labels are the operator's labels of all captures.
	Labels map[string]string
	Tool   capture.Tool
	// MaxBytes limits the stored bytes of a response. The traffic goes on past it. Zero
	// means no limit.
	MaxBytes int64
	// FailOnStore ends an exchange whose capture cannot be written. Otherwise only the
	// capture ends.
	FailOnStore bool
	Sync        SyncPolicy
	// QueueBytes limits the memory of everything that waits to be written, of all
	// exchanges together. Unfinished events of recordings may take as much again; beyond
	// it, no further events of a recording are found. Zero means DefaultQueueBytes.
	QueueBytes int64
	// EventBytes limits the memory of events that have not arrived completely, of all
	// exchanges together. Each exchange may take 64 KiB in addition. If an event needs more
	// than is left, a Caller ends the exchange. Zero means DefaultEventBytes.
	EventBytes int64
	// MaxRequestBytes limits a request body. Zero means DefaultMaxRequestBytes.
	MaxRequestBytes int64
	// MaxExchanges limits the number of open exchanges. Zero means
	// DefaultMaxExchanges.
	MaxExchanges int
	// Timeout limits the duration of an exchange. Zero means no limit.
	Timeout time.Duration
	// AllowedHosts are names that the Host header of a request may have in addition to
	// those of loopback.
	AllowedHosts []string
	// AllowRemote accepts every Host header, unless AllowedHosts has names.
	AllowRemote bool
	// Log receives messages about exchanges, without their content. Nil means none.
	Log *slog.Logger
	// Observer receives events about exchanges. It may be nil.
	Observer Observer
	// Follow, if not nil, is called when a capture was created whose events can be found
	// while it is written, if its request has arrived. It returns what receives the events,
	// or nil. It must not block. The settings are valid during the call.
	Follow func(name string, s capture.Settings) Follower
}

// The default limits.
const (
	DefaultQueueBytes      = 64 << 20
	DefaultEventBytes      = 128 << 20
	DefaultMaxRequestBytes = 64 << 20
	DefaultMaxExchanges    = 1000
)

// SyncPolicy says when what was written to an open capture is made durable: at the end, after
// each write, or, if it is positive, after that time.
type SyncPolicy time.Duration

// The policies that are not intervals.
const (
	SyncAtEnd SyncPolicy = 0
	SyncEach  SyncPolicy = -1
)

// Observer receives events about exchanges. Its methods are called concurrently and must not block.
type Observer interface {
	// Begun is called when an exchange is accepted.
	Begun()
	// Passed is called after n bytes of a response were passed on. held is the
	// time from the end of the read that returned them to the start of the next read.
	Passed(n int, held time.Duration)
	// Queued is called when the memory of the queue changes by delta bytes.
	Queued(delta int)
	// StoreFailed is called when a capture cannot be created, written or closed.
	StoreFailed(error)
	// Refused is called when a request is answered with the given status in place of
	// being passed on.
	Refused(status int)
	// Ended is called once for each exchange, when it has ended and its capture, if
	// there is one, was closed.
	Ended(Exchange)
}

// Follower receives the events of a response while it is recorded. It gets an event after
// the event was written to the capture, so it never has more than the capture, unless power
// fails. It may get fewer events than the capture has, but then it lacks only the last ones.
// Its methods are called by one goroutine, and must not block.
type Follower interface {
	// Event receives the next event and the time of arrival that the capture has for it.
	// The data is valid during the call.
	Event(data []byte, arrived time.Time)
	// Wake is called when no further event is known yet.
	Wake()
	// End is called once, after the last event, and before Observer.Ended.
	End()
}

// Exchange describes an exchange that has ended.
type Exchange struct {
	// Name is the name of the capture directory, or "" if the exchange was not
	// recorded.
	Name string
	// Digest is the digest of capture.json, if the capture was closed.
	Digest digest.Digest
	// End is the end of the capture, or how the exchange ended if it was not recorded.
	End capture.End
	// Status is the status that the client received, or 0 if it received none.
	Status int
	// Bytes is the number of bytes of the response body that the upstream sent.
	Bytes int64
	// Events is the number of stored events, or -1 if they were not counted.
	Events int
	// Recorded reports that the exchange was to be recorded. If it is not stored, that
	// has failed.
	Recorded bool
	// Stored reports that the capture was closed and survives a loss of power.
	Stored bool
	// Findings are about the capture.
	Findings []finding.Finding
	Duration time.Duration
}

// CheckUpstream returns an error if u cannot be the URL of an upstream.
func CheckUpstream(u *url.URL) error {
	switch {
	case u == nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the upstream is not an http or https URL with a host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "":
		return errors.New("the URL of the upstream has user info, a query or a fragment")
	case u.Path != "" && !strings.HasPrefix(u.Path, "/"):
		return errors.New("the path of the upstream does not begin with a slash")
	}
	return nil
}

// normalize checks the limits and replaces zero values with the defaults.
func (s *Settings) normalize() error {
	if s.QueueBytes < 0 || s.EventBytes < 0 || s.MaxBytes < 0 || s.MaxRequestBytes < 0 || s.MaxExchanges < 0 || s.Timeout < 0 || s.Sync < SyncEach {
		return errors.New("a limit is negative")
	}
	s.QueueBytes = cmp.Or(s.QueueBytes, DefaultQueueBytes)
	s.EventBytes = cmp.Or(s.EventBytes, DefaultEventBytes)
	s.MaxRequestBytes = cmp.Or(s.MaxRequestBytes, DefaultMaxRequestBytes)
	s.MaxExchanges = cmp.Or(s.MaxExchanges, DefaultMaxExchanges)
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Observer == nil {
		s.Observer = silent{}
	}
	return nil
}

// silent is an Observer that does nothing.
type silent struct{}

func (silent) Begun()                    {}
func (silent) Passed(int, time.Duration) {}
func (silent) Queued(int)                {}
func (silent) StoreFailed(error)         {}
func (silent) Refused(int)               {}
func (silent) Ended(Exchange)            {}
