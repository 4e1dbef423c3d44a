package runs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
)

// threads limits the threads of tenants. Counting them reads the list, so a count is used
// for a while, plus the threads that were admitted since.
type threads struct {
	limit  int64 // 0: none
	mu     sync.Mutex
	counts map[string]count
}

type count struct {
	threads int64
	at      time.Time
}

// recount is the age at which a count is not used any more.
const recount = time.Minute

// admit returns ErrThreads if a thread does not exist and its tenant has as many threads as
// it may have.
func (t *threads) admit(ctx context.Context, log store.Log, key store.Key) error {
	if t.limit == 0 {
		return nil
	}
	if _, err := log.Thread(ctx, key); !errors.Is(err, store.ErrNoThread) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.counts[key.Tenant]
	if !ok || c.threads >= t.limit || time.Since(c.at) > recount {
		c = count{at: time.Now()}
		for _, err := range log.Threads(ctx, store.ThreadQuery{Tenant: &key.Tenant}) {
			if err != nil {
				return err
			}
			if c.threads++; c.threads == t.limit {
				return ErrThreads
			}
		}
	}
	c.threads++
	if t.counts == nil {
		t.counts = map[string]count{}
	}
	t.counts[key.Tenant] = c
	return nil
}
