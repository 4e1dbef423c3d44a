package restore

import (
	"context"

	"github.com/p20export/p20export/store"
)

// A placer finds where messages of an outline belong in a request that omits them. A message
// was the last one when it was created. So it follows all that the outline has before it, and
// the request of its run.
type placer struct {
	*outline
	*full
	all []known
	// For each message, the index of the next one that is sure, of the next one that is sure
	// and in the request, and of the next one that is in the request and not sure.
	next, placed, unsure []int
	// Of the messages before the present one: the nearest, and the one with the last place in
	// the request.
	nearest *known
	after   int
	from    *known
}

// newPlacer returns a placer for the messages of an outline, which must be passed or found in
// their order.
func newPlacer(o *outline, f *full, all []known) *placer {
	n := len(all)
	p := &placer{outline: o, full: f, all: all, after: -1, next: make([]int, n), placed: make([]int, n), unsure: make([]int, n)}
	next, placed, unsure := n, n, n
	for i := n - 1; i >= 0; i-- {
		p.next[i], p.placed[i], p.unsure[i] = next, placed, unsure
		switch m := &all[i]; {
		case m.omitted:
		case m.sure && m.place >= 0:
			next, placed = i, i
		case m.sure:
			next = i
		case m.place >= 0:
			unsure = i
		}
	}
	return p
}

// pass passes a message that is not looked for.
func (p *placer) pass(i int) {
	m := &p.all[i]
	p.nearest = m
	if m.place > p.after {
		p.after, p.from = m.place, m
	}
}

// find returns the index of the message of the request before which a message belongs, or -1
// if a client that sends the request does not have it any more.
func (p *placer) find(ctx context.Context, i int) (int, error) {
	m, near := &p.all[i], p.nearest
	var answer *known // the next message of the run
	if n := p.next[i]; n < len(p.all) && p.all[n].requests <= m.requests {
		answer = &p.all[n]
	}
	switch {
	case near == nil && m.requests == 0:
		return 0, nil
	case near != nil && near.requests >= m.requests:
		begins := near.Run() == 0 && m.Run() > 0 // the answer to the first request
		if near.place < 0 || begins && answer != nil && answer.place < 0 {
			return -1, nil
		}
		return p.after + 1, nil
	}
	// It follows the last message of the request of its run. The next message of the run
	// shows where that is, unless a snapshot has others before it.
	switch {
	case answer != nil && answer.place < 0:
		return -1, nil
	case answer != nil && p.unsure[i] > p.next[i]:
		return answer.place, nil
	case p.placed[i] < len(p.all):
		next := &p.all[p.placed[i]]
		return p.count(ctx, m, next.place, next.requests, p.unsure[i] < p.placed[i])
	}
	return p.count(ctx, m, len(p.messages), len(p.asked)+1, p.unsure[i] < len(p.all))
}

// count finds the place of a message between p.after and another message of the request that
// to requests precede.
func (p *placer) count(ctx context.Context, m *known, before, to int, doubt bool) (int, error) {
	from := 0
	if p.from != nil {
		from, doubt = p.from.requests, doubt || !p.from.sure
	}
	if before <= p.after+1 {
		return p.after + 1, nil
	}
	if before-p.after-1 == to-from && !doubt && to > m.requests {
		return p.after + 1 + m.requests - from, nil // each request has one of them
	}
	last, ok, err := p.lastOf(ctx, m.requests)
	switch {
	case err != nil:
		return 0, err
	case ok && last == removed:
		return -1, nil
	case ok:
		return max(last, p.after) + 1, nil
	case to <= m.requests:
		return before, nil
	}
	return min(p.after+1+m.requests-from, before), nil
}

// gone reports whether the agent removed a message of an earlier request: whether the last
// snapshot lacks it.
func (o *outline) gone(ctx context.Context, request int, id string) (bool, error) {
	t := o.thread
	if o.snapshot <= t.runs[o.path[o.asked[request-1]].Index].Start {
		return false, nil
	}
	if o.latest == nil {
		for e, err := range t.log.Select(ctx, t.Key, store.At(o.snapshot)) {
			if err != nil {
				return false, err
			}
			o.latest = readFull(e.Data)
		}
	}
	if o.latest == nil {
		return false, nil
	}
	_, has := o.latest.byID[id]
	return !has, nil
}

// removed is the place of a message that the client removed.
const removed = -2

// lastOf returns the place of the last message of an earlier request. If a snapshot of the
// agent removed that, those before it count. The place is -1 if there are none, and removed if
// the client removed it. It reports false if the request is not known.
func (p *placer) lastOf(ctx context.Context, request int) (place int, ok bool, err error) {
	if p.request == request {
		return p.last, true, nil
	}
	data, err := p.readRequest(ctx, p.asked[request-1])
	if err != nil || data == nil {
		return 0, false, err
	}
	f := readFull(data)
	if f == nil {
		return 0, false, nil
	}
	p.request, p.last = request, -1
	for i := len(f.messages) - 1; i >= 0; i-- {
		id := f.messages[i].id
		if at, ok := p.byID[id]; ok {
			p.last = at
			break
		}
		if gone, err := p.gone(ctx, request, id); err != nil {
			return 0, false, err
		} else if !gone {
			p.last = removed
			break
		}
	}
	return p.last, true, nil
}
