package servetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/store/attach"
	"github.com/p20export/p20export/store/restore"
)

// compareConnect compares a response of connect with the log. It has one or more runs, and
// each begins with a prelude.
func (t *trial) compareConnect(ctx context.Context, th *thread, response *response) error {
	frames := response.frames
	for len(frames) > 0 {
		prelude := 0 // its last event is the first with an id
		for prelude < len(frames) && frames[prelude].id == "" {
			prelude++
		}
		if prelude == len(frames) {
			if response.complete {
				return errors.New("the last prelude has no position")
			}
			return nil // the reader left in the middle of it
		}
		n := prelude + 1
		for n < len(frames) && frames[n].id != "" {
			n++
		}
		complete := response.complete || n < len(frames)
		if err := t.compareJoin(ctx, th, frames[:n], prelude, complete); err != nil {
			return err
		}
		t.summary.Preludes++
		frames = frames[n:]
	}
	return nil
}

// compareJoin compares a prelude and the events after it with a run.
func (t *trial) compareJoin(ctx context.Context, th *thread, frames []frame, prelude int, complete bool) error {
	position, _, err := frames[prelude].position()
	if err != nil {
		return err
	}
	r := th.before(position)
	if r == nil {
		return fmt.Errorf("the prelude has the position %d, before any run", position)
	}
	// A prelude has each event on one line.
	if frames[0].data != strings.ReplaceAll(string(r.first.Data), "\n", "") {
		return fmt.Errorf("the prelude at position %d begins with %.200q, want %.200q", position, frames[0].data, r.first.Data)
	}
	if want := attach.CursorOf(th.at(position)).String(); frames[prelude].id != want {
		return fmt.Errorf("the prelude has the id %s, want %s", frames[prelude].id, want)
	}
	tail, rest := frames[prelude+1:], after(r.entries, position)
	if len(tail) > len(rest) {
		return fmt.Errorf("the run %d has %d events after position %d, and not %d", r.first.Position, len(rest), position, len(tail))
	}
	if err := same(tail, rest[:len(tail)]); err != nil {
		return fmt.Errorf("after the prelude at position %d: %w", position, err)
	}
	last, _, err := frames[len(frames)-1].position()
	if err != nil {
		return err
	}
	if complete && last < r.end() {
		return fmt.Errorf("the response ends at position %d of the run %d, which ends at %d", last, r.first.Position, r.end())
	}
	for _, e := range r.entries {
		if e.Position <= last {
			position = e.Position
		}
	}
	return t.compareState(ctx, frames, prelude, position)
}

// compareState checks that a client accepts what it got, and that it leads to the messages
// and the state of the thread at a position.
func (t *trial) compareState(ctx context.Context, frames []frame, prelude int, position int64) error {
	checker := sequence.New(sequence.Options{Client: true})
	reducer := reduce.New(reduce.Options{Dialect: reduce.Client})
	for i, f := range frames {
		e, err := envelope.ReadEvent([]byte(f.data))
		if err != nil {
			return fmt.Errorf("event %d after joining: %w", i+1, err)
		}
		e.Index = i
		if found := checker.Event(e); len(found) > 0 {
			return fmt.Errorf("event %d after joining (%d of them the prelude, at %s) is not valid: %s: %.300q\n%s", i+1, prelude+1, frames[prelude].id, found[0], f.data, text(frames[:i+1]))
		}
		reducer.Event(e)
	}
	opened, err := restore.Open(ctx, t.Log, t.key, restore.Options{Dialect: reduce.Client})
	if err != nil {
		return err
	}
	want, err := opened.At(ctx, position)
	if err != nil {
		return err
	}
	repeated, err := repeatsIDs(want.Messages)
	if err != nil {
		return err
	}
	if got := reducer.AppendMessages(nil); !repeated && !judge.Equal(string(got), string(want.Messages)) {
		return fmt.Errorf("after a prelude of %d events at %s, the messages at position %d are\n%s\nwant\n%s\nfrom\n%s", prelude+1, frames[prelude].id, position, got, want.Messages, text(frames))
	}
	if got := reducer.AppendState(nil); string(got) != string(want.State) && !judge.Equal(string(got), string(want.State)) {
		return fmt.Errorf("after a prelude of %d events at %s, the state at position %d is\n%s\nwant\n%s", prelude+1, frames[prelude].id, position, got, want.State)
	}
	return nil
}

// repeatsIDs reports whether several messages of a conversation have the same id. Events that
// name it then may change another one in a client that has joined, which is a limit of package
// join.
func repeatsIDs(messages []byte) (bool, error) {
	reducer := reduce.New(reduce.Options{Dialect: reduce.Client})
	err := reducer.Restore(messages, nil)
	return reducer.Changes().Repeated, err
}

// text returns the data of frames on lines.
func text(frames []frame) string {
	s := ""
	for _, f := range frames {
		s += f.id + "\t" + f.data + "\n"
	}
	return s
}
