package attach

import (
	"context"
	"iter"

	"github.com/p20export/p20export/store"
)

// cut is the event that ends a run for a reader that joined it if the run has no last event
// of its own. It is not in the log, and has no id.
const cut = `{"type":"RUN_ERROR","message":"The run broke off: its stream ended, or began another run, before the run had ended.","code":"p20export.cut"}`

// Connect lets a client that knows no ids join a thread. It returns the prelude of the run
// that started last, as package envelope/join describes it, and then the events of the run
// until it ends. The last event of the prelude and the events after it have ids, after which
// Events and Stream can continue. If the run breaks off, a RUN_ERROR without an id follows,
// which is not in the log. A thread without runs has no events.
//
// With follow, Connect does not end, but waits for the next run and goes on with that in the
// same way. If several have started meanwhile, it is the last of them.
func (h *Hub) Connect(ctx context.Context, key store.Key, follow bool) iter.Seq2[[]byte, error] {
	return h.iterate(ctx, key, func(r *reader) error {
		if err := r.catchUp(); err != nil {
			return err
		}
		for joined := int64(0); ; {
			j, err := r.feed.joinable(ctx, joined)
			if err != nil {
				return err
			}
			if j.start > 0 {
				joined = j.start
				err = r.follow(&j)
			} else if follow {
				r.position = max(r.position, j.known)
				err = r.nextRun()
			}
			if err != nil || !follow {
				return err
			}
		}
	})
}

// follow sends the prelude of a run and its events after that.
func (r *reader) follow(j *joinable) error {
	r.hold(j.prelude.part)
	if err := r.frames(&j.prelude, 0); err != nil {
		return err
	}
	r.position = j.position
	for ended := j.ended; !ended; {
		p, err := r.next()
		if err != nil {
			return err
		}
		for i := range p.entries {
			e := &p.entries[i]
			if e.stream != j.stream || e.kind != kindEnd && e.run == 0 {
				continue
			}
			if e.kind == kindTerminal && e.run == j.start {
				return r.send(p.to(p.after+int64(i)+1), j.has)
			}
			if ended = e.run != j.start; ended {
				p = p.to(p.after + int64(i) + 1)
				break
			}
		}
		if err := r.send(p, j.has); err != nil {
			return err
		}
	}
	if j.terminal {
		return nil
	}
	var end frames
	end.add("", []byte(cut))
	return r.frames(&end, 0)
}

// nextRun waits for a run that starts after r.position, and does not pass it.
func (r *reader) nextRun() error {
	for {
		p, err := r.next()
		if err != nil {
			return err
		}
		i := p.nextRun(0)
		r.position = p.after + int64(i)
		if i < len(p.entries) {
			return nil
		}
	}
}
