package restore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/saving"
	"github.com/p20export/p20export/store"
)

// keptVersion is the version of kept checkpoints. It has to grow whenever the same bytes mean
// something else, and whenever messages, state or findings follow from entries in another way. A
// program uses only those of its own version.
const keptVersion = 1

// maxChainBytes limits the size of all that is read of a chain, after decompression.
const maxChainBytes = 256 << 20

// kind returns the kind of store.Derived that has the checkpoints of these options, without the
// messages.
func (o *Options) kind() string {
	return fmt.Sprintf("restore %s %s", cmp.Or(o.Input, Auto), o.Dialect)
}

// messageKind returns the kind of store.Derived that has their messages: each those that the one
// before does not have.
func (o *Options) messageKind() string { return o.kind() + " messages" }

// A mark describes a kept checkpoint: of which moment it is, and on which one it builds. The
// checkpoints from one that is whole to one that builds on all of them are a chain. Runs are named
// by the positions of RUN_STARTED.
type mark struct {
	sum        digest
	position   int64 // of the last entry
	version    int64
	before     int64  // the position of the checkpoint before it in the chain, or 0
	first      int64  // where the replay began: see base
	run, bound int64  // of the last entry; see spot
	entries    int64  // see replay
	entry      digest // of the last entry
	rest       digest // of all but the messages, as it is kept
	same       int64  // see reduce.Saved
	total      int64  // the bytes of all messages of the chain before compression
}

type digest = [sha256.Size]byte

// head returns the mark as store.Derived.Head.
func (m *mark) head() []byte {
	var c saving.Coder
	m.code(&c)
	return append(m.sum[:], c.Bytes...)
}

// code writes or reads all but the sum and the position.
func (m *mark) code(c *saving.Coder) {
	for _, n := range []*int64{
		&m.version, &m.before, &m.first, &m.run, &m.bound, &m.entries, &m.same, &m.total,
	} {
		c.Int64(n)
	}
	for _, d := range []*digest{&m.entry, &m.rest} {
		text := d[:]
		c.Text(&text)
		copy(d[:], text)
	}
}

// markOf returns the mark of a kept checkpoint, and whether it has one that this program can use.
func markOf(d *store.Derived) (m mark, ok bool) {
	m.position = d.Position
	if len(d.Head) < copy(m.sum[:], d.Head) {
		return m, false
	}
	c := saving.Read(d.Head[min(sha256.Size, len(d.Head)):])
	m.code(c)
	return m, c.Done() && m.version == keptVersion && m.entries > 0
}

// sumOf returns the sum of a checkpoint with a mark and messages, which follows the one with the sum
// before.
func (t *Thread) sumOf(before digest, m *mark, messages []byte) (sum digest) {
	h := sha256.New()
	h.Write(before[:])
	c := saving.Coder{}
	for _, text := range []string{t.Key.Tenant, t.Key.Thread, t.options.kind()} {
		c.String(&text)
	}
	c.Int64(&m.position)
	m.code(&c)
	h.Write(c.Bytes)
	h.Write(messages)
	h.Sum(sum[:0])
	return sum
}

// entrySum returns the digest of an entry. An agent that runs again can send the same event at the
// same position, but not at the same time.
func entrySum(e *store.Entry) digest {
	text := fmt.Appendf(nil, "%d %d ", len(e.Stream), e.Arrived.UnixMicro())
	return sha256.Sum256(append(append(text, e.Stream...), e.Data...))
}

// others writes or reads what a spot has that its Reducer does not have. It returns whether the
// request of the last run was applied.
func (s *spot) others(c *saving.Coder) (asked bool) {
	c.Bool(&s.started)
	c.Bool(&s.finished)
	asked = s.input != nil
	c.Bool(&asked)
	s.findings.code(c)
	return asked
}

// chain returns the chain of the kept checkpoint from which least has to be applied to replay runs
// that continue each other, as far as a position. The last checkpoint is after the position from and
// not after the position to. Without one, the chain is empty.
func (t *Thread) chain(ctx context.Context, b base, used []*lineage.Node, position, from, to int64) (chain []mark, err error) {
	start := t.runs[b.first].Start
	list, err := t.log.Kept(ctx, t.Key, t.options.kind(), start, to, false)
	if err != nil {
		return nil, err
	}
	// whole holds, by position, the checkpoints that lead to the position together with all of
	// their predecessors: load falls back to one of them if best is damaged.
	whole := make(map[int64]mark)
	var best mark
	for i := range list {
		m, ok := markOf(&list[i])
		if !ok || m.first != start || m.before != 0 && whole[m.before].position == 0 {
			continue
		}
		if s := t.spotOf(&m, b); s == nil || !s.leadsTo(used, position) {
			continue
		}
		whole[m.position] = m
		if m.entries > best.entries && m.position > from {
			best = m
		}
	}
	for m := best; m.position > 0; m = whole[m.before] {
		chain = append(chain, m)
	}
	slices.Reverse(chain)
	return chain, nil
}

// spotOf returns a spot without a conversation, or nil if the thread has no such run.
func (t *Thread) spotOf(m *mark, b base) *spot {
	at, ok := t.runFrom(m.run)
	if !ok {
		return nil
	}
	return &spot{base: b, replay: replay{Thread: t, last: t.Graph.Nodes[at], entries: m.entries}, applied: m.position, through: m.position, bound: m.bound}
}

// runFrom returns the index of the run with a RUN_STARTED at a position.
func (t *Thread) runFrom(start int64) (int, bool) {
	return slices.BinarySearchFunc(t.runs, start, func(r store.Run, start int64) int { return cmp.Compare(r.Start, start) })
}

// load returns the spot of the last checkpoint of a chain that is as it was kept, its last entry, and
// which one it is. The spot is nil if there is none.
func (t *Thread) load(ctx context.Context, chain []mark, b base) (*spot, *store.Entry, int, error) {
	list, err := t.log.Kept(ctx, t.Key, t.options.messageKind(), chain[0].position, chain[len(chain)-1].position, true)
	if err != nil {
		return nil, nil, 0, err
	}
	var messages [][]byte
	var before digest
	for i := range list {
		n := len(messages)
		if n == len(chain) || list[i].Position != chain[n].position {
			continue // it is of another branch
		}
		if t.sumOf(before, &chain[n], list[i].Data) != chain[n].sum {
			break
		}
		before, messages = chain[n].sum, append(messages, list[i].Data)
	}
	for n := len(messages) - 1; n >= 0; n-- {
		m := &chain[n]
		rest, err := t.log.Kept(ctx, t.Key, t.options.kind(), m.position, m.position, true)
		if err != nil {
			return nil, nil, 0, err
		}
		e, err := t.entry(ctx, m.position)
		if err != nil {
			return nil, nil, 0, err
		}
		if len(rest) == 0 || sha256.Sum256(rest[0].Data) != m.rest || entrySum(e) != m.entry {
			continue
		}
		s, err := t.resume(ctx, chain[:n+1], messages, rest[0].Data, b)
		return s, e, n, err
	}
	return nil, nil, 0, nil
}

// resume returns the spot of the last checkpoint of a chain, or nil if the messages and the rest are
// not what was kept.
func (t *Thread) resume(ctx context.Context, chain []mark, messages [][]byte, rest []byte, b base) (*spot, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(store.MaxDerivedBytes))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	left, damaged := maxChainBytes, false
	unpack := func(text []byte) []byte {
		text, err := z.DecodeAll(text, nil)
		left -= len(text)
		damaged = damaged || err != nil || left < 0
		return text
	}
	saved := make([]reduce.Saved, len(chain))
	for i := range chain {
		if saved[i] = (reduce.Saved{Same: int(chain[i].same), Messages: unpack(messages[i])}); damaged {
			return nil, nil
		}
	}
	s, c := t.spotOf(&chain[len(chain)-1], b), saving.Read(unpack(rest))
	asked := s.others(c)
	c.Text(&saved[len(saved)-1].Rest)
	var ok bool
	if s.reducer, ok = reduce.Load(reduce.Options{Dialect: t.options.Dialect}, saved); damaged || !ok || !c.Done() {
		return nil, nil
	}
	s.reader = envelope.NewReader()
	if asked {
		request, err := t.entry(ctx, t.runs[s.last.Index].Input)
		if err != nil {
			return nil, err
		}
		s.input = request.Data
	}
	return s, nil
}

// nearest returns the spot of the last checkpoint of the chain that Thread.chain finds, and its last
// entry, or nil. If that is damaged, one before it takes its place.
func (t *Thread) nearest(ctx context.Context, b base, used []*lineage.Node, position, from, to int64) (*spot, *store.Entry, error) {
	chain, err := t.chain(ctx, b, used, position, from, to)
	if len(chain) == 0 || err != nil {
		return nil, nil, err
	}
	s, e, _, err := t.load(ctx, chain, b)
	return s, e, err
}
