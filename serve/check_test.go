package serve_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// unreachable is a log whose leases cannot be taken while away is set, as those of a database
// that restarts.
type unreachable struct {
	*memory.Log
	away atomic.Bool
}

func (l *unreachable) Leases(ctx context.Context, lost func(string)) (store.Leases, error) {
	leases, err := l.Log.Leases(ctx, lost)
	return &unreachableLeases{leases, l}, err
}

type unreachableLeases struct {
	store.Leases
	log *unreachable
}

func (l *unreachableLeases) Take(ctx context.Context, name string) (bool, error) {
	if l.log.away.Load() {
		return false, errAway
	}
	return l.Leases.Take(ctx, name)
}

// A server is ready while its log and its leases can be used and it does not drain.
func TestCheck(t *testing.T) {
	log := &unreachable{Log: memory.New()}
	p := start(t, log, newAgent(t), serve.Settings{})
	for range 2 { // it gives back what it takes
		if err := p.server.Check(t.Context()); err != nil {
			t.Errorf("ready: %v", err)
		}
	}
	log.away.Store(true)
	if err := p.server.Check(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("without leases: %v", err)
	}
	log.away.Store(false)
	if err := p.server.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.server.Check(t.Context()); err == nil {
		t.Error("a server that drains is ready")
	}
	reader := start(t, memory.New(), nil, serve.Settings{})
	if err := reader.server.Check(t.Context()); err != nil {
		t.Errorf("without agents: %v", err)
	}
}
