package guard

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

// errRevoked is the cause for which the context of a request ends whose token was removed
// from the token file.
var errRevoked = errors.New("the token was removed")

// recheckAfter is the time after which the token file is read again although no request
// needs it, because requests with a token are open.
const recheckAfter = 10 * time.Second

// bearers are the open requests with a token.
type bearers struct {
	file *tokenFile

	mu    sync.Mutex
	open  map[*bearer]struct{}
	timer *time.Timer // nil if there is no open request
}

// bearer is an open request with a token.
type bearer struct {
	hash   [sha256.Size]byte
	cancel context.CancelCauseFunc
}

// add returns a context that ends when the token is removed. The caller must call leave at the
// end of the request.
func (b *bearers) add(ctx context.Context, hash [sha256.Size]byte) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	x := &bearer{hash, cancel}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[x] = struct{}{}
	if b.timer == nil {
		b.timer = time.AfterFunc(recheckAfter, b.recheck)
	}
	return ctx, func() {
		cancel(nil)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, x)
		if len(b.open) == 0 && b.timer != nil {
			b.timer.Stop()
			b.timer = nil
		}
	}
}

// recheck reads the file again, and ends the requests whose tokens are not in it any more.
func (b *bearers) recheck() {
	b.file.refresh()
	known := map[[sha256.Size]byte]bool{}
	for _, t := range *b.file.tokens.Load() {
		known[t.hash] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for x := range b.open {
		if !known[x.hash] {
			x.cancel(errRevoked)
		}
	}
	if b.timer != nil {
		b.timer.Reset(recheckAfter)
	}
}
