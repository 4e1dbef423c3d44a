package store

import (
	"context"
	"errors"
)

// A Leaser is a log whose leases processes can hold. Every adapter implements it.
//
// A lease is a right that one holder has at a time, for example to run the agent of a thread.
// It ends with its process, also if that is killed. Leases order work; they do not guard
// entries. A holder that loses a lease may learn it late, so it must also be ready for entries
// of the next holder: see Append.
type Leaser interface {
	// Leases begins to hold leases. The function lost is called when another holder may
	// have a lease that was not released. It can be called at any time, from another
	// goroutine, and may use the Leases except for Close. Leases of a SQLite file belong to
	// one holder; the error is ErrLeased for all others. Close the Leases before the log.
	Leases(ctx context.Context, lost func(name string)) (Leases, error)
}

// Leases are the leases of one holder. They are safe for concurrent use.
type Leases interface {
	// Take takes a lease and reports whether it did. It reports false if anyone has or shares
	// the lease, also this holder. It does not wait. After an error nobody has the lease, or
	// somebody else. The error is ErrClosed after Close.
	Take(ctx context.Context, name string) (bool, error)
	// Share is like Take, but several holders can share a lease at a time. It reports false if
	// anyone has taken the lease, or this holder shares it.
	Share(ctx context.Context, name string) (bool, error)
	// Release gives back a lease, or the share of this holder. It does nothing if this holder does not have it.
	Release(name string)
	// Close gives back all leases. The function lost is not called after it. A second call
	// does nothing.
	Close() error
}

// ErrLeased means that another process, or another part of this one, holds the leases of a log.
var ErrLeased = errors.New("another process holds the leases of the log")
