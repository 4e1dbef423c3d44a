package exchange

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/p20export/p20export/internal/atomicfile"
)

// maxIdle limits the idle connections of a server. Each is an open file.
const maxIdle = 1000

// MaxIdle returns the number of idle connections that a server keeps: an eighth of the open
// files that the program may have, at most 1,000.
func MaxIdle() int { return min(maxIdle, max(1, atomicfile.MaxOpen()/8)) }

// idleConns are the idle connections of a server: those on which no request is answered,
// also if a part of a request has arrived. When there are too many, it closes the one that
// has been idle for the longest time.
type idleConns struct {
	most int
	log  *slog.Logger
	now  func() time.Time // time.Now, except in tests

	mu     sync.Mutex
	order  *list.List // of net.Conn, the longest idle first
	of     map[net.Conn]*list.Element
	warned time.Time
}

func newIdleConns(most int, l *slog.Logger) *idleConns {
	return &idleConns{most: most, log: l, now: time.Now, order: list.New(), of: make(map[net.Conn]*list.Element)}
}

type connKey struct{}

// limit makes a server close idle connections.
func (i *idleConns) limit(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew, http.StateIdle:
			i.add(c)
		case http.StateHijacked, http.StateClosed:
			i.remove(c)
		}
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			i.remove(c)
		}
		next.ServeHTTP(w, r)
	})
}

// add adds a connection that becomes idle.
func (i *idleConns) add(c net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of[c] != nil {
		return
	}
	i.of[c] = i.order.PushBack(c)
	if i.order.Len() <= i.most {
		return
	}
	longest := i.order.Remove(i.order.Front()).(net.Conn)
	delete(i.of, longest)
	if t, ok := longest.(*tls.Conn); ok {
		longest = t.NetConn() // whose Close never waits for the client
	}
	_ = longest.Close()
	if now := i.now(); i.warned.IsZero() || now.Sub(i.warned) >= warnInterval {
		i.warned = now
		i.log.Warn("too many idle connections; those that were idle for the longest time are closed", "limit", i.most)
	}
}

// remove removes a connection that is no longer idle.
func (i *idleConns) remove(c net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.of[c]; e != nil {
		i.order.Remove(e)
		delete(i.of, c)
	}
}
