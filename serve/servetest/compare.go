package servetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// compare compares the log with what the agent sent, and what the readers got with the log.
func (t *trial) compare(ctx context.Context) error {
	th, err := t.thread(ctx)
	if err != nil {
		return err
	}
	for _, s := range t.scripts {
		if err := t.compareScript(th, s); err != nil {
			return fmt.Errorf("run %s: %w", s.runID, err)
		}
	}
	t.summary.Runs += len(th.runs)
	t.summary.Events += len(th.visible)
	for position, data := range t.book {
		if e := th.at(position); e == nil || !visible(e) || string(e.Data) != data {
			return fmt.Errorf("a reader got %.200q at position %d, where the log has another entry", data, position)
		}
	}
	for _, r := range t.everyone() {
		if err := r.compare(ctx, th); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return t.compareAll(ctx, th)
}

// ownerLost is in the event that closes a run whose server was killed.
const ownerLost = `"p20export.owner_lost"`

// compareScript compares the streams of a run with what the agent sent.
func (t *trial) compareScript(th *thread, s *script) error {
	streams := make(map[string][]*store.Entry)
	var order []string
	for _, e := range th.entries {
		if e.Kind == store.Input && bytes.Equal(e.Data, s.body) {
			order = append(order, e.Stream)
		}
	}
	for _, e := range th.entries {
		streams[e.Stream] = append(streams[e.Stream], e)
	}
	if len(order) == 0 || len(order) > 1 && !t.Killed {
		return fmt.Errorf("it has %d streams", len(order))
	}
	for n, id := range order {
		entries := streams[id]
		if last := entries[len(entries)-1]; last.Kind != store.End {
			return fmt.Errorf("stream %s is not ended", id)
		}
		entries = entries[1 : len(entries)-1]
		closing := len(entries) > 0 && entries[len(entries)-1].Kind == store.Closing
		if closing {
			t.summary.Closed++
			last := entries[len(entries)-1]
			entries = entries[:len(entries)-1]
			lost := t.Killed && strings.Contains(string(last.Data), ownerLost)
			if lost {
				t.summary.Lost++
			}
			if !lost && !strings.Contains(string(last.Data), `"p20export.upstream_ended"`) {
				return fmt.Errorf("stream %s is closed by %s", id, last.Data)
			}
		}
		if open := len(entries) > 0 && !terminal(entries[len(entries)-1]); open != closing && len(entries) > 0 {
			return fmt.Errorf("stream %s: its run is open: %t; it is closed by an event: %t", id, open, closing)
		}
		for i, e := range entries {
			if e.Kind != store.Event || i >= s.whole || string(e.Data) != s.events[i] {
				return fmt.Errorf("event %d of stream %s is %.200q, position %d", i+1, id, e.Data, e.Position)
			}
		}
		if len(entries) < s.whole && !t.Killed || n < len(order)-1 && len(entries) > 0 {
			return fmt.Errorf("stream %s has %d of %d events", id, len(entries), s.whole)
		}
	}
	return nil
}

// compare compares what the reader got with the log.
func (r *reader) compare(ctx context.Context, th *thread) error {
	switch r.view {
	case raw:
		return same(r.frames, th.visible)
	case posted:
		streams := make(map[string]bool)
		for _, e := range th.entries {
			streams[e.Stream] = streams[e.Stream] || e.Kind == store.Input && bytes.Equal(e.Data, r.script.body)
		}
		if r.t.Killed {
			// Another reader may have tried the run again.
			seen := make(map[string]bool)
			for _, f := range r.frames {
				if e := th.at(f.number()); e != nil {
					seen[e.Stream] = true
				}
			}
			maps.DeleteFunc(streams, func(id string, _ bool) bool { return !seen[id] })
		}
		return same(r.frames, slices.DeleteFunc(slices.Clone(th.visible), func(e *store.Entry) bool { return !streams[e.Stream] }))
	case compacted:
		n, err := th.compareCompacted(r.frames)
		r.t.summary.Compacted += n
		return err
	}
	for n, response := range r.responses {
		if err := r.t.compareConnect(ctx, th, response); err != nil {
			return fmt.Errorf("response %d of connect: %w", n+1, err)
		}
	}
	return nil
}

// same compares frames with entries.
func same(frames []frame, entries []*store.Entry) error {
	for i, f := range frames {
		if i >= len(entries) {
			return fmt.Errorf("after all events it got %s %.200q", f.id, f.data)
		}
		if e := entries[i]; f.id != attach.CursorOf(e).String() || f.data != string(e.Data) {
			return fmt.Errorf("event %d is %s %.200q, want %s %.200q", i+1, f.id, f.data, attach.CursorOf(e), e.Data)
		}
	}
	if len(frames) < len(entries) {
		return fmt.Errorf("it got %d of %d events", len(frames), len(entries))
	}
	return nil
}

// compareCompacted compares the frames of the compacted view, and returns the number of
// runs that were compacted.
func (th *thread) compareCompacted(frames []frame) (runs int, err error) {
	rest := th.visible
	for len(frames) > 0 {
		position, part, err := frames[0].position()
		if err != nil {
			return 0, err
		}
		if part == 0 {
			if len(rest) == 0 {
				return 0, fmt.Errorf("after all events it got %s %.200q", frames[0].id, frames[0].data)
			}
			if err := same(frames[:1], rest[:1]); err != nil {
				return 0, err
			}
			frames, rest = frames[1:], rest[1:]
			continue
		}
		if len(rest) == 0 || rest[0].Run != rest[0].Position || position != rest[0].Position-1 {
			return 0, fmt.Errorf("the id %s is not that of the next run", frames[0].id)
		}
		n := slices.IndexFunc(frames, func(f frame) bool { return !strings.Contains(f.id, ".") }) + 1
		if n == 0 {
			return 0, errors.New("the last run is not complete")
		}
		last, _, err := frames[n-1].position()
		if err != nil {
			return 0, err
		}
		r := th.runOf(rest[0].Position)
		want, err := r.compacted(last)
		if err != nil {
			return 0, err
		}
		if len(want) != n || last < r.end() || th.runOf(last) != r {
			return 0, fmt.Errorf("run %d has %d compacted events up to position %d, want %d", r.first.Position, n, last, len(want))
		}
		for i, f := range frames[:n] {
			id := attach.CursorOf(th.at(last))
			if i < n-1 {
				id.Position, id.Compacted = position, int64(i)+1
			}
			if f.data != want[i] || f.id != id.String() {
				return 0, fmt.Errorf("compacted event %s of run %d is %s %.200q, want %.200q", id, r.first.Position, f.id, f.data, want[i])
			}
		}
		frames, rest = frames[n:], after(rest, last)
		runs++
	}
	if len(rest) > 0 {
		return 0, fmt.Errorf("position %d is missing", rest[0].Position)
	}
	return runs, nil
}

// compareAll reads the thread once more in each way, when all runs have ended.
func (t *trial) compareAll(ctx context.Context, th *thread) error {
	for v := range views {
		r := newReader(t, v, nil, 0, 100)
		r.last = true
		if v == followed {
			continue // never ends
		}
		if err := r.readAll(ctx); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if err := r.compare(ctx, th); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if v == connected {
			if last := r.responses[0].frames; len(last) == 0 || r.position < t.finalRun {
				return fmt.Errorf("%s: it gets %d events up to position %d, want the run that ends at %d", r.name, len(last), r.position, t.finalRun)
			}
			continue
		}
		if n := slices.IndexFunc(r.frames, func(f frame) bool { return strings.Contains(f.id, ".") }); v == compacted && n < 0 && th.compacts() {
			return fmt.Errorf("%s: no run is compacted", r.name)
		}
		// Nothing follows.
		before := len(r.frames)
		if err := r.readAll(ctx); err != nil || len(r.frames) > before {
			return fmt.Errorf("%s gets %d events after the last position: %w", r.name, len(r.frames)-before, err)
		}
	}
	return nil
}

// readAll reads what there is after the cursor.
func (r *reader) readAll(ctx context.Context) error {
	frames := r.frames
	for {
		err := r.readOnce(ctx)
		if err == nil || !r.t.Killed || !errors.Is(err, errBroken) {
			return err
		}
		// A server was killed after the runs had ended.
		r.frames, r.responses = frames, nil
		r.t.change(func() { r.cursor, r.position = "", 0 })
		if len(frames) > 0 {
			last := frames[len(frames)-1]
			r.t.change(func() { r.cursor, r.position = last.id, last.number() })
		}
	}
}

func (r *reader) readOnce(ctx context.Context) error {
	request, err := r.request(ctx, false)
	if err != nil {
		return err
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: the response is %s", request.Method, request.URL, got.Status)
	}
	complete, err := r.read(bufio.NewReader(got.Body), -1)
	if err == nil && !complete {
		err = errors.New("the response does not end")
	}
	return err
}
