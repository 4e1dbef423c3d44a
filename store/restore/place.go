package restore

import "context"

// A placer finds where messages of an outline belong in a request that omits them. A message
// was the last one when it was created. So it follows all that the outline has before it, and
// the request of its run.
type placer struct {
	*outline
	*full
	all []known
	// Of the messages before the present one: the nearest, the one with the last place in
	// the request, and whether that one is sure.
	nearest *known
	after   int
	from    *known
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
	switch {
	case near == nil && m.requests == 0:
		return 0, nil
	case near != nil && near.requests >= m.requests:
		if near.place < 0 || near.Run() == 0 && p.answerGone(i) {
			return -1, nil
		}
		return p.after + 1, nil
	}
	// It follows the last message of the request of its run. The next message of the run
	// shows where that is, unless a snapshot has others before it.
	doubt := false
	for k := i + 1; k < len(p.all); k++ {
		next := &p.all[k]
		ofRun := next.requests <= m.requests
		switch {
		case next.omitted:
		case !next.sure:
			doubt = doubt || next.place >= 0
		case ofRun && next.place < 0:
			return -1, nil
		case ofRun && !doubt:
			return next.place, nil
		case next.place >= 0:
			return p.count(ctx, m, next.place, next.requests, doubt)
		}
	}
	return p.count(ctx, m, len(p.messages), len(p.asked)+1, doubt)
}

// answerGone reports whether a message begins the run of the first request, and the request
// lacks the message of the run that follows.
func (p *placer) answerGone(i int) bool {
	if p.all[i].Run() == 0 {
		return false
	}
	for k := i + 1; k < len(p.all) && p.all[k].requests == p.all[i].requests; k++ {
		if next := &p.all[k]; next.sure && !next.omitted {
			return next.place < 0
		}
	}
	return false
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
	ids, err := p.requested(ctx, m.requests)
	switch {
	case err != nil:
		return 0, err
	case len(ids) > 0:
		return p.behind(ctx, m.requests, ids)
	case to <= m.requests:
		return before, nil
	}
	return min(p.after+1+m.requests-from, before), nil
}

// behind returns the place behind the messages of an earlier request, or -1 if the client
// removed the last of them. If a snapshot of the agent did, those before it count.
func (p *placer) behind(ctx context.Context, request int, ids []string) (int, error) {
	for i := len(ids) - 1; i >= 0; i-- {
		if at, ok := p.byID[ids[i]]; ok {
			return max(at, p.after) + 1, nil
		}
		if removed, err := p.removed(ctx, request, ids[i]); err != nil || !removed {
			return -1, err
		}
	}
	return p.after + 1, nil
}

// removed reports whether the agent removed a message of an earlier request: whether the last
// snapshot lacks it.
func (o *outline) removed(ctx context.Context, request int, id string) (bool, error) {
	t := o.thread
	if o.snapshot <= t.runs[o.path[o.asked[request-1]].Index].Start {
		return false, nil
	}
	for e, err := range t.log.Read(ctx, t.Key, o.snapshot-1) {
		if err != nil {
			return false, err
		}
		if f := readFull(e.Data); f != nil {
			_, has := f.byID[id]
			return !has, nil
		}
		break
	}
	return false, nil
}

// requested returns the ids of the messages of an earlier request. It returns none if they are
// not known.
func (o *outline) requested(ctx context.Context, request int) ([]string, error) {
	if o.request == request {
		return o.ids, nil
	}
	data, err := o.readRequest(ctx, o.asked[request-1])
	if err != nil || data == nil {
		return nil, err
	}
	o.request, o.ids = request, nil
	if f := readFull(data); f != nil {
		for _, m := range f.messages {
			o.ids = append(o.ids, m.id)
		}
	}
	return o.ids, nil
}
