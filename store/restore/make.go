package restore

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/saving"
	"github.com/p20export/p20export/store"
)

// spacing says when a checkpoint is kept.
type spacing struct {
	// entries and bytes are how many entries there are between two checkpoints, and how many
	// bytes of entries. So many are applied in some 10 ms.
	entries, bytes int
	// share is how many bytes of entries a checkpoint needs for each of its own bytes.
	share int
}

// spaced returns the spacing.
func (o *Options) spaced() spacing {
	if o.spacing != (spacing{}) {
		return o.spacing
	}
	return spacing{entries: 4096, bytes: 4 << 20, share: 4}
}

// keptAtOnce is the size of the checkpoints that are kept in one transaction.
const keptAtOnce = 256 << 10

// KeepCheckpoints keeps checkpoints of a run in the log, from which Run, Before, At, Live and a
// Walker begin: of the run to which a position belongs by the rules of At, up to its end, and of
// those that it continues. If there are some already, it goes on from the last of them. What it
// keeps is derived from the entries, and takes a fraction of their space. The error is ErrPosition
// if the thread has no such position.
//
// If the log has checkpoints of a later program, KeepCheckpoints does nothing. It drops those of an
// earlier program and damaged ones.
func (t *Thread) KeepCheckpoints(ctx context.Context, position int64) error {
	n, err := t.runAt(ctx, position)
	if n == nil || err != nil {
		return err
	}
	later, err := t.dropEarlier(ctx)
	if later || err != nil {
		return err
	}
	path, position := n.Path(), t.runs[n.Index].Last
	from, request, err := t.first(ctx, path, position)
	if err != nil {
		return err
	}
	used := path[from:]
	k := keeper{thread: t, base: t.base(path, from, position)}
	s, err := k.begin(ctx, used, position)
	if err != nil {
		return err
	}
	if s == nil {
		s = &spot{base: k.base, replay: *t.newReplay(nil, nil)}
		if from > 0 {
			if err := s.begin(ctx, path, from, position, request, true); err != nil {
				return err
			}
		}
	}
	if k.coder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
		return err
	}
	defer k.coder.Close()
	s.used = used
	plan := t.plan(used[s.runIn(used):], position)
	if s.last != nil {
		plan = s.rest(plan)[1:]
	}
	err = t.read(ctx, plan, func(n *lineage.Node, e *store.Entry) error {
		s.step(n, e, position)
		return k.entry(ctx, s, e)
	})
	if err != nil {
		return err
	}
	return k.keep(ctx)
}

// dropEarlier drops the checkpoints of earlier programs, and reports whether there are some of a later
// one.
func (t *Thread) dropEarlier(ctx context.Context) (later bool, err error) {
	list, err := t.log.Kept(ctx, t.Key, t.options.kind(), 1, t.Last, false)
	if err != nil {
		return false, err
	}
	drop := false
	for i := range list {
		m, ok := markOf(&list[i])
		later, drop = later || m.version > keptVersion, drop || !ok
	}
	if later || !drop {
		return later, nil
	}
	return false, t.forget(ctx)
}

// forget drops all checkpoints.
func (t *Thread) forget(ctx context.Context) error {
	return errors.Join(t.log.Forget(ctx, t.Key, t.options.kind()), t.log.Forget(ctx, t.Key, t.options.messageKind()))
}

// keeper keeps the checkpoints of one base.
type keeper struct {
	thread *Thread
	base   base
	coder  *zstd.Encoder

	last  mark // the last checkpoint
	saver reduce.Saver
	count int // of entries since the last checkpoint
	bytes int // of their data
	needs int // bytes until the next one is small in comparison

	messages, rest []store.Derived // to be kept
	size           int
}

// begin returns the spot of the last checkpoint, or nil if there is none. If one is damaged, all are
// dropped.
func (k *keeper) begin(ctx context.Context, used []*lineage.Node, position int64) (*spot, error) {
	t := k.thread
	chain, err := t.chain(ctx, k.base, used, position, 0, position)
	if len(chain) == 0 || err != nil {
		return nil, err
	}
	s, _, n, err := t.load(ctx, chain, k.base)
	if err != nil {
		return nil, err
	}
	if s == nil || n < len(chain)-1 {
		return nil, t.forget(ctx)
	}
	k.last = chain[n]
	k.saver.Save(s.reducer)
	return s, nil
}

// entry adds a checkpoint after an entry was applied, if it is time for one and it is small.
func (k *keeper) entry(ctx context.Context, s *spot, e *store.Entry) error {
	k.bytes += len(e.Data)
	t := k.thread
	spaced, start := t.options.spaced(), t.runs[s.base.first].Start
	if k.count++; k.count < spaced.entries && k.bytes < spaced.bytes || k.bytes < k.needs || e.Position < start {
		return nil
	}
	m := mark{
		position: s.applied, version: keptVersion, before: k.last.position, first: start,
		run: t.runs[s.last.Index].Start, bound: s.bound, entries: s.entries, entry: entrySum(e), total: k.last.total,
	}
	sum, saver := k.last.sum, k.saver
	if m.total > int64(min(2*s.reducer.Memory(nil), maxChainBytes/2)) {
		// The chain has become long, so a new one begins.
		m.before, m.total, sum, saver = 0, 0, digest{}, reduce.Saver{}
	}
	saved := saver.Save(s.reducer)
	var c saving.Coder
	s.others(&c)
	c.Text(&saved.Rest)
	messages, rest := k.coder.EncodeAll(saved.Messages, nil), k.coder.EncodeAll(c.Bytes, nil)
	size := len(messages) + len(rest)
	if needs := size * spaced.share; needs > k.bytes && (m.before > 0 || k.last.position == 0) {
		k.needs = needs
		return nil
	}
	m.rest, m.same, m.total = sha256.Sum256(rest), int64(saved.Same), m.total+int64(len(saved.Messages))
	m.sum = t.sumOf(sum, &m, messages)
	k.last, k.saver, k.count, k.bytes, k.needs = m, saver, 0, 0, 0
	k.messages = append(k.messages, store.Derived{Position: m.position, Data: messages})
	k.rest = append(k.rest, store.Derived{Position: m.position, Head: m.head(), Data: rest})
	if k.size += size; k.size < keptAtOnce {
		return nil
	}
	return k.keep(ctx)
}

// keep keeps the checkpoints that were added.
func (k *keeper) keep(ctx context.Context) error {
	if len(k.rest) == 0 {
		return nil
	}
	t := k.thread
	err := t.log.Keep(ctx, t.Key, t.options.messageKind(), k.messages)
	if err == nil {
		err = t.log.Keep(ctx, t.Key, t.options.kind(), k.rest)
	}
	k.messages, k.rest, k.size = nil, nil, 0
	return err
}
