package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// feed has the entries of a thread that has readers: those that the follower got, and those
// that readers loaded because they were behind. Pages that nobody used for the longest time
// are dropped, and can be loaded again.
type feed struct {
	log     store.Log
	key     store.Key
	limit   int     // of the memory of pages, in bytes
	memory  *budget // that of the Hub
	stop    context.CancelFunc
	readers int // guarded by Hub.mu

	// loading is the turn of a reader that loads a page. Others that need the same page wait
	// for it.
	loading turn

	mu      sync.Mutex
	last    int64         // the last position that the follower knows, or unknown
	lastRun int64         // no later run is known: where the follower began, or got the last RUN_STARTED
	final   int64         // readers end after this position, unless it is unknown
	err     error         // why the follower ended
	changed chan struct{} // closed when last or err changes; nil if nobody waits
	pages   []*cached     // by position; they do not overlap
	bytes   int           // the memory of pages
	used    uint64        // the value of memory.clock at the last use
	// runs are those that were compacted, by the position of RUN_STARTED.
	runs       map[int64]*compacted
	runBytes   int  // the memory of runs
	compacting turn // of a reader that compacts a run

	joiner    joiner
	restoring restore.Options
	working   chan struct{} // those of the Hub
	reading   chan struct{}
}

// unknown is the last position of a thread before the log was asked.
const unknown = -1

// cached is a page of a feed.
type cached struct {
	page
	used uint64 // the value of memory.clock at the last use
}

// rewound reports whether the log has less of the thread than the follower got. The follower
// will notice, but a reader that joins before that would get what is no longer there.
func (f *feed) rewound(ctx context.Context) (bool, error) {
	f.mu.Lock()
	last := f.last // first: the log has at least as much
	f.mu.Unlock()
	if last <= 0 {
		return false, nil
	}
	t, err := f.log.Thread(ctx, f.key)
	return t.Last < last, ignoreNoThread(err)
}

// follow follows the thread until ctx is done or the log fails. The error is never nil.
func (f *feed) follow(ctx context.Context) error {
	t, err := f.log.Thread(ctx, f.key)
	switch {
	case ignoreNoThread(err) != nil:
		return err
	case !t.DeletedAt.IsZero():
		return store.ErrDeleted
	}
	f.mu.Lock()
	// A run may have begun up to here, also after a reader looked for one.
	f.last, f.lastRun = t.Last, t.Last
	f.wake()
	f.mu.Unlock()
	for e, err := range f.log.Follow(ctx, f.key, t.Last) {
		if err != nil {
			return err
		}
		f.add(e)
	}
	return cmp.Or(ctx.Err(), errors.New("the log stopped following"))
}

// fail ends all readers with an error. Only the first call counts, which it reports.
func (f *feed) fail(err error) (first bool) {
	f.mu.Lock()
	if first = f.err == nil; first {
		f.err = err
		f.wake()
	}
	f.mu.Unlock()
	f.evict(true)
	return first
}

// finish ends each reader with ErrClosed when it has the entries up to a position.
func (f *feed) finish(position int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.final = position
	f.wake()
}

// tail returns the last position that the follower knows.
func (f *feed) tail() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(f.last, 0)
}

// failed returns why the follower ended.
func (f *feed) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// wake wakes the readers that wait. The caller holds f.mu.
func (f *feed) wake() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// add adds the next entry of the thread.
func (f *feed) add(e *store.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	var p *cached
	if n := len(f.pages); n > 0 {
		p = f.pages[n-1]
	}
	if p == nil || p.last() != f.last || p.full(e, f.pageLimit()) {
		p = &cached{page: page{after: f.last, part: f.memory.add(0)}}
		f.insert(p)
	}
	f.bytes -= p.size()
	p.add(e, time.Now())
	p.part.resize(p.size())
	f.bytes += p.size()
	if f.last = e.Position; e.Run == e.Position {
		f.lastRun = e.Position
	}
	if f.shrink(); f.memory.over() {
		// Readers that need the page load it, when there is memory.
		f.remove(len(f.pages) - 1)
	}
	f.wake()
}

// pageLimit returns the limit of the text of a page.
func (f *feed) pageLimit() int { return min(f.limit/8, maxPageBytes) }

// insert adds a page. The caller holds f.mu.
func (f *feed) insert(p *cached) {
	i, _ := f.find(p.after)
	f.pages = slices.Insert(f.pages, i, p)
	f.bytes += p.size()
	f.use(p)
}

// use notes that a page is in use. The caller holds f.mu.
func (f *feed) use(p *cached) {
	f.used = f.memory.clock.Add(1)
	p.used = f.used
}

// shrink drops pages until the limit is kept. The last page stays, because most readers
// wait for its next entry. The caller holds f.mu.
func (f *feed) shrink() {
	for f.bytes > f.limit && len(f.pages) > 1 {
		oldest := 0
		for i, p := range f.pages[:len(f.pages)-1] {
			if p.used < f.pages[oldest].used {
				oldest = i
			}
		}
		f.remove(oldest)
	}
}

// remove removes a page. The caller holds f.mu.
func (f *feed) remove(i int) {
	f.bytes -= f.pages[i].size()
	f.pages[i].part.drop()
	f.pages = slices.Delete(f.pages, i, i+1)
}

// find returns the index of the page that has the entry after a position, or of the next
// page and false. The caller holds f.mu.
func (f *feed) find(position int64) (int, bool) {
	return slices.BinarySearchFunc(f.pages, position, func(p *cached, position int64) int {
		switch {
		case p.last() <= position:
			return -1
		case p.after > position:
			return 1
		}
		return 0
	})
}

// after returns entries after a position. If the follower does not have them yet, it returns
// a channel that is closed when that may have changed. If they have to be loaded, it returns
// neither. The caller holds the page.
func (f *feed) after(position int64) (page, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return page{}, nil, f.err
	}
	if f.final != unknown && position >= f.final {
		return page{}, nil, ErrClosed
	}
	if position >= f.last {
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		return page{}, f.changed, nil
	}
	i, ok := f.find(position)
	if !ok {
		return page{}, nil, nil
	}
	f.use(f.pages[i])
	f.pages[i].part.hold()
	return f.pages[i].from(position), nil, nil
}

// page is like after, but loads entries if it has to.
func (f *feed) page(ctx context.Context, position int64) (page, <-chan struct{}, error) {
	p, changed, err := f.after(position)
	if err == nil && changed == nil && len(p.entries) == 0 {
		p, err = f.load(ctx, position)
	}
	return p, changed, err
}

// load returns entries after a position before f.last, and reads the log if it has to.
func (f *feed) load(ctx context.Context, position int64) (_ page, err error) {
	if err := f.loading.begin(ctx); err != nil {
		return page{}, err
	}
	defer func() { f.loading.end(err) }()
	if p, _, err := f.after(position); err != nil || len(p.entries) > 0 {
		return p, err
	}
	// The size is known only when the entries were read.
	for need := smallBytes; ; {
		part, err := f.memory.take(ctx, need)
		if err != nil {
			return page{}, err
		}
		p, err := f.read(ctx, position)
		if err != nil {
			part.drop()
			return page{}, err
		}
		if size := p.size(); size > need {
			part.drop()
			need = size
			continue
		}
		part.resize(p.size())
		p.part = part
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err != nil {
			part.drop()
			return page{}, f.err
		}
		part.hold()
		f.insert(p)
		f.shrink()
		return p.page, nil
	}
}

// read reads entries after a position before f.last from the log.
func (f *feed) read(ctx context.Context, position int64) (*cached, error) {
	if err := enter(ctx, f.reading); err != nil {
		return nil, err
	}
	defer leave(f.reading)
	f.mu.Lock()
	to := f.last
	if i, _ := f.find(position); i < len(f.pages) {
		to = f.pages[i].after
	}
	f.mu.Unlock()
	p := &cached{page: page{after: position}}
	for e, err := range f.log.Select(ctx, f.key, store.Selection{After: position, To: to, Bare: []store.Kind{store.Input}}) {
		if err != nil {
			return nil, err
		}
		if p.full(e, f.pageLimit()) {
			break
		}
		p.add(e, time.Time{})
	}
	if len(p.entries) == 0 {
		return nil, fmt.Errorf("thread %q has no entry at position %d: the log is damaged", f.key.Thread, position+1)
	}
	return p, nil
}

// checkAt returns the check of the entry at a position of the log. It is 0 if the log has none.
func (f *feed) checkAt(ctx context.Context, position int64) (check uint32, err error) {
	for e, err := range f.log.Select(ctx, f.key, store.At(position)) {
		if err != nil {
			return 0, err
		}
		check = checkOf(e)
	}
	return check, nil
}

// checkOf returns the check of the first entry of a page, which is read again if its data was
// left out.
func (f *feed) checkOf(ctx context.Context, p *page) (uint32, error) {
	if check := p.entries[0].check; check != 0 {
		return check, nil
	}
	return f.checkAt(ctx, p.after+1)
}
