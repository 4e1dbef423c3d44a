package restore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/join"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// A replay applies the entries of a branch to a Reducer.
type replay struct {
	*Thread
	reader   *envelope.Reader
	reducer  *reduce.Reducer
	last     *lineage.Node // the run whose conversation is restored
	history  []byte        // the messages before the first request, to compare; nil if not known
	input    []byte        // the request of the last run
	merged   []byte        // the first request with what clients omit, or nil
	started  bool          // RUN_STARTED of the last run was applied
	finished bool          // and then its RUN_FINISHED
	used     []*lineage.Node
	join     *join.Run // of the last run, or nil
	entries  int64
	findings findings
}

// restore restores the conversation of a run as of a position, which may be that of its
// request. If compare is set, a request that has the whole conversation is compared with
// that of the runs before it.
func (t *Thread) restore(ctx context.Context, n *lineage.Node, position int64, compare bool) (*Result, error) {
	p, err := t.replay(ctx, n, position, compare, nil)
	if err != nil {
		return nil, err
	}
	return p.result(position), nil
}

// replay applies what restore restores. The events of the run itself are also those of join,
// which may be nil.
func (t *Thread) replay(ctx context.Context, n *lineage.Node, position int64, compare bool, joined *join.Run) (*replay, error) {
	p := t.newReplay(n, joined)
	if n == nil {
		return p, nil
	}
	path := n.Path()
	from, request, err := t.first(ctx, path, position)
	if err != nil {
		return nil, err
	}
	p.used = path[from:]
	b, start := t.base(path, from, position), t.runs[path[from].Index].Start
	to, of := t.keptUpTo(b, p.used, position, compare, joined)
	var s *spot
	if to-start >= int64(t.options.spaced().entries) {
		if s, _, err = t.nearest(ctx, b, p.used, position, start, to); err != nil {
			return nil, err
		}
	}
	plan := t.plan(p.used, position)
	switch {
	case s != nil:
		plan, start = s.rest(t.plan(p.used[s.runIn(p.used):], position))[1:], s.applied
		p.goOn(s)
	case from > 0:
		if err := p.begin(ctx, path, from, position, request, compare); err != nil {
			return nil, err
		}
	}
	p.addRuns()
	if s != nil {
		p.findings.join(&s.findings)
	}
	applied := p.entries
	if err := t.read(ctx, plan, p.apply); err != nil {
		return nil, err
	}
	t.applied(of, min(p.entries-applied, to-start))
	return p, nil
}

// newReplay returns a replay without entries.
func (t *Thread) newReplay(n *lineage.Node, joined *join.Run) *replay {
	return &replay{Thread: t, reader: envelope.NewReader(), reducer: reduce.New(reduce.Options{Dialect: t.options.Dialect}), last: n, join: joined}
}

// base returns where a replay of a path as of a position begins, which is at path[from].
func (t *Thread) base(path []*lineage.Node, from int, position int64) base {
	b := base{first: path[from].Index}
	if from > 0 {
		b.to = min(position, t.runs[b.first].Start-1)
	}
	return b
}

// keptUpTo returns the last position of a checkpoint from which a replay can go on, and the run that
// has that position; 0 and nil if there can be none. A replay with join needs all events of its last
// run, and only one with compare begins as checkpoints with requests that have the whole conversation
// do.
func (t *Thread) keptUpTo(b base, used []*lineage.Node, position int64, compare bool, joined *join.Run) (int64, *lineage.Node) {
	n := len(used) - 1
	switch {
	case b.to > 0 && !compare, joined != nil && n == 0:
		return 0, nil
	case joined == nil:
		return position, used[n]
	}
	last := &t.runs[used[n].Index]
	return min(position, cmp.Or(last.Input, last.Start)-1), used[n-1]
}

// goOn makes the replay go on after a spot.
func (p *replay) goOn(s *spot) {
	p.reducer, p.entries = s.reducer, s.entries
	if p.last == s.last {
		p.input, p.started, p.finished = s.input, s.started, s.finished
	}
}

// applied notes how many entries were applied for a run that checkpoints of it would have saved.
func (t *Thread) applied(n *lineage.Node, entries int64) {
	if t.options.Behind != nil && n != nil && entries >= 2*int64(t.options.spaced().entries) {
		t.options.Behind(t.Key, t.options, t.runs[n.Index].Start)
	}
}

// begin prepares for the request of a run of a path, which is not the first one: that request
// has the whole conversation.
func (p *replay) begin(ctx context.Context, path []*lineage.Node, from int, position int64, request []byte, compare bool) error {
	if p.options.Input != Full && (compare || p.join != nil) {
		if err := p.keep(ctx, path, from, position, request); err != nil {
			return err
		}
	}
	if compare {
		before, err := p.restore(ctx, path[from-1], min(position, p.runs[path[from].Index].Start-1), false)
		if err != nil {
			return err
		}
		p.history = before.Messages
	}
	return nil
}

// addRuns adds the findings about the runs that are used.
func (p *replay) addRuns() {
	for _, n := range p.used {
		for _, f := range n.Findings() {
			p.findings.add(0, f)
		}
	}
}

// keep merges the request of a run with what earlier runs of its path have and clients omit.
func (p *replay) keep(ctx context.Context, path []*lineage.Node, from int, position int64, request []byte) error {
	f := readFull(request)
	if f == nil || p.join == nil && f.hasActivity && f.hasReasoning {
		return nil
	}
	o, err := p.outline(ctx, path[:from], min(position, p.runs[path[from].Index].Start-1), !f.hasReasoning)
	if err != nil {
		return err
	}
	var changes reduce.Changes
	p.merged, changes, err = o.merge(ctx, f)
	p.reducer.Follow(o.reducer, changes)
	return err
}

// first returns the index of the first run of a path that is needed, and its request: the last
// one whose request has the whole conversation. Otherwise it returns the root.
func (t *Thread) first(ctx context.Context, path []*lineage.Node, position int64) (int, []byte, error) {
	for i := len(path) - 1; i > 0; i-- {
		r := &t.runs[path[i].Index]
		if r.Input == 0 || r.Input > position || !t.isFull(path[i]) {
			continue
		}
		for e, err := range t.log.Select(ctx, t.Key, store.At(r.Input)) {
			if err != nil {
				return 0, nil, err
			}
			if isObject(e.Data) {
				return i, bytes.Clone(e.Data), nil
			}
		}
	}
	return 0, nil, nil
}

// isFull reports whether the request of a run has the whole conversation.
func (t *Thread) isFull(n *lineage.Node) bool {
	switch t.options.Input {
	case Full:
		return true
	case Normalized:
		return false
	}
	return n.ParentID == ""
}

// isObject reports whether a text is a JSON object.
func isObject(text []byte) bool {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
	return err == nil && v.Kind == strictjson.ObjectStart
}

// apply applies an entry of a run. The error is always nil, as Thread.read needs it.
func (p *replay) apply(n *lineage.Node, e *store.Entry) error {
	p.entries++
	if e.Kind == store.Input {
		p.request(n, e)
		return nil
	}
	ev, err := p.reader.Read(e.Data)
	if err != nil {
		if f, ok := finding.FromError(err); ok {
			p.findings.add(e.Position, f)
		}
		if n == p.last && p.join != nil {
			p.join.Skip()
		}
		return nil
	}
	if ev.Type == eventnames.RunStarted && p.startsExchange(n) {
		p.reducer.Exchange()
	}
	if n == p.last {
		switch ev.Type {
		case eventnames.RunStarted:
			p.started = true
		case eventnames.RunFinished:
			p.finished = true
		}
		if p.join != nil {
			p.join.Event(ev)
		}
	}
	for _, f := range p.reducer.Event(ev) {
		p.findings.add(e.Position, f)
	}
	return nil
}

// startsExchange reports whether a run has no request and continues no run of its stream, so
// that its input is all that is known of a request.
func (p *replay) startsExchange(n *lineage.Node) bool {
	r := &p.runs[n.Index]
	return r.Input == 0 && (n.Parent == nil || p.runs[n.Parent.Index].Stream != r.Stream)
}

// request applies the request of a run.
func (p *replay) request(n *lineage.Node, e *store.Entry) {
	if !isObject(e.Data) {
		p.findings.add(e.Position, finding.New(finding.RequestMalformed, "the request of run %s is not a JSON object, and is ignored", finding.Quote(n.ID)))
		p.reducer.Exchange()
		return
	}
	if n == p.last {
		p.input = append([]byte(nil), e.Data...)
	}
	apply, data := p.reducer.Merge, e.Data
	switch {
	case p.isFull(n):
		apply = p.reducer.Seed // n is the first run
		if p.merged != nil {
			data = p.merged
		}
	case p.options.Input == Normalized:
		apply = p.reducer.Continue
	}
	for _, f := range apply(data) {
		p.findings.add(e.Position, f)
	}
	if p.history != nil {
		p.compare(n, e.Position)
	}
}

// compare reports messages of the history that the request of a run omits. A message with
// another id and the same content counts, because not all clients keep ids. Clients do not
// send activities and reasoning.
func (p *replay) compare(n *lineage.Node, position int64) {
	ids, contents := make(map[string]bool), make(map[[sha256.Size]byte]bool)
	eachMessage(p.reducer.AppendMessages(nil), func(id, _ string, content [sha256.Size]byte) {
		ids[id], contents[content] = true, true
	})
	omitted, first := 0, ""
	eachMessage(p.history, func(id, role string, content [sha256.Size]byte) {
		if ids[id] || contents[content] || role == event.RoleActivity || role == event.RoleReasoning {
			return
		}
		if omitted++; omitted == 1 {
			first = id
		}
	})
	p.history = nil
	if omitted > 0 {
		p.findings.add(position, finding.New(finding.InputOmitsHistory, "the request of run %s omits messages of the run that it continues: %d, the first is %s",
			finding.Quote(n.ID), omitted, finding.Quote(first)))
	}
}

// eachMessage calls visit for each message of an array of a Reducer, with a digest of its
// role, content and tool calls.
func eachMessage(messages []byte, visit func(id, role string, content [sha256.Size]byte)) {
	var o strictjson.Object
	// The Reducer wrote the text, so there is no error.
	v, _ := strictjson.ReadText(&o, new(strictjson.Decoder), messages)
	h := sha256.New()
	_ = strictjson.Elements(v, func(_ int, _ strictjson.Value, o *strictjson.Object) error {
		h.Reset()
		for _, name := range []string{"role", "content", "toolCalls", "toolCallId"} {
			if v, _ := o.Get(name); string(v.Raw) != "[]" { // as if it were absent
				h.Write(v.Raw)
			}
			h.Write([]byte{0})
		}
		visit(o.Text("id"), o.Text("role"), [sha256.Size]byte(h.Sum(nil)))
		return nil
	})
}

// result returns what was restored.
func (p *replay) result(position int64) *Result {
	r := p.about(p.last, position)
	r.Messages = p.reducer.AppendMessages(nil)
	r.State, r.StateKnown = p.reducer.AppendState(nil), p.reducer.HasState()
	r.Findings = p.findings.list()
	return r
}

// about returns what was restored for a run, without messages, the state and findings.
func (p *replay) about(n *lineage.Node, position int64) *Result {
	r := &Result{
		Key: p.Key, Run: n, Position: position, Interrupts: []byte("[]"),
		Input: p.input, Used: p.used, Entries: p.entries,
	}
	if p.started {
		r.PendingToolCalls = p.reducer.PendingToolCalls()
	}
	if p.finished {
		r.Interrupts = p.reducer.AppendInterrupts(nil)
	}
	return r
}
