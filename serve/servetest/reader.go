package servetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A view is a way to read a thread or a run.
type view int

const (
	raw       view = iota // GET events
	compacted             // GET events?view=compact
	connected             // POST connect, which ends with the run
	followed              // POST connect?follow=true
	views                 // the number of ways to read a thread
	posted                // POST of the request for a run
)

func (v view) String() string {
	return [...]string{"events", "compact", "connect", "connect and follow", "", "run"}[v]
}

// A reader reads a thread or a run, and joins again until it has everything.
type reader struct {
	t      *trial
	view   view
	script *script // of the run that it posts, or nil
	name   string
	rand   *rand.Rand

	// frames are those of all responses, except of connect.
	frames []frame
	// responses are those of connect.
	responses []*response

	// These belong to the lock of the trial.
	position int64
	cursor   string
	joins    int
	over     bool // it has everything, or the trial has failed
	last     bool // it reads what is left, to the end
	cancel   context.CancelCauseFunc
}

// A response is what a reader of connect got in one response.
type response struct {
	frames   []frame
	complete bool // it was read to its end
}

func newReader(t *trial, v view, s *script, seed uint64, number int) *reader {
	r := &reader{t: t, view: v, script: s, rand: rand.New(rand.NewPCG(t.Seed, seed)), name: fmt.Sprintf("reader %d of %s", number, v)}
	if s != nil {
		r.name += " " + s.runID
	}
	return r
}

// run joins until the reader has everything, or ctx is done.
func (r *reader) run(ctx context.Context) error {
	defer r.t.change(func() { r.over = true })
	for n := 1; ctx.Err() == nil; n++ {
		cursor := r.cursor
		ended, err := r.join(ctx)
		if err != nil {
			return fmt.Errorf("%s, join %d with cursor %q: %w", r.name, n, cursor, err)
		}
		if ended {
			return nil
		}
	}
	return nil
}

// drop makes the reader leave if it has joined.
func (r *reader) drop() {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if r.cancel != nil {
		r.cancel(errDropped)
	}
}

// enough reports whether a reader of the thread has everything. The trial is locked.
func (r *reader) enough() bool {
	switch {
	case r.script != nil || r.last || r.t.final == 0:
		return false
	case r.view == connected || r.view == followed:
		return r.position >= r.t.finalRun
	}
	return r.position >= r.t.final
}

// join joins once, and reads until it leaves, by chance or because it was dropped. It reports
// whether the reader has everything.
func (r *reader) join(ctx context.Context) (ended bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := 0
	r.t.change(func() {
		ended = r.enough()
		r.cancel = cancel
		sent = r.t.sent()
	})
	if ended {
		return true, nil
	}
	follow := r.view != connected && (r.script != nil || r.view == followed || r.rand.IntN(8) > 0)
	request, err := r.request(ctx, follow)
	if err != nil {
		return false, r.forgive(ctx, err)
	}
	limit := []int{0, 1, 2, 1 + r.rand.IntN(10), 1 + r.rand.IntN(50), -1, -1}[r.rand.IntN(7)]
	if r.t.Steady {
		limit = -1
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, r.forgive(ctx, fmt.Errorf("%w: %w", errBroken, err))
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(io.LimitReader(got.Body, 1000))
		return false, r.forgive(ctx, fmt.Errorf("%s %s: the response is %s, %s: %s", request.Method, request.URL, got.Status, got.Header.Get("Content-Type"), text))
	}
	r.t.change(func() {
		r.joins++
		r.t.summary.Joins++
	})
	complete, err := r.read(bufio.NewReader(got.Body), limit)
	switch {
	case err != nil:
		return false, r.forgive(ctx, err)
	case !complete:
		r.t.change(func() { r.t.summary.Drops++ })
		return false, nil
	case r.script != nil:
		// A server that is killed before the first event loses the run, which is then tried
		// again.
		lost := !slices.ContainsFunc(r.frames, func(f frame) bool { return !strings.Contains(f.data, ownerLost) })
		return !lost || !r.t.Killed, nil
	case r.view == connected:
		r.t.await(ctx, func() bool { return r.t.final > 0 || r.t.sent() != sent })
		return false, nil
	case follow && (r.view != followed || !r.failed()):
		return false, r.forgive(ctx, errors.New("the response ends"))
	}
	return false, nil
}

// failed reports whether the last response of a reader of connect ended with a RUN_ERROR, after
// which clients accept nothing.
func (r *reader) failed() bool {
	frames := r.responses[len(r.responses)-1].frames
	return len(frames) > 0 && strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(frames[len(frames)-1].data, "{")), `"type":"RUN_ERROR"`)
}

// errBroken means that a connection broke.
var errBroken = errors.New("the connection broke")

// forgive returns nil if an error is no failure of the server.
func (r *reader) forgive(ctx context.Context, err error) error {
	if ctx.Err() != nil || r.t.Killed && errors.Is(err, errBroken) {
		r.t.change(func() { r.t.summary.Drops++ })
		return nil
	}
	return err
}

// sent returns the number of writes of the agent that had events. The trial is locked.
func (t *trial) sent() int {
	n := 0
	for _, s := range t.scripts {
		n += s.sent
	}
	return n
}

// request makes the request of a join.
func (r *reader) request(ctx context.Context, follow bool) (*http.Request, error) {
	address, err := r.t.URL(ctx)
	if err != nil {
		return nil, err
	}
	method, path, query := http.MethodGet, "/threads/"+url.PathEscape(r.t.key.Thread), url.Values{}
	var body []byte
	switch r.view {
	case posted:
		method, path, body = http.MethodPost, "/agents/"+Upstream, r.script.body
	case connected, followed:
		method, path, body = http.MethodPost, path+"/connect", request(r.t.key.Thread, "joined", "", "")
		if follow {
			query.Set("follow", "true")
		}
	default:
		path += "/events"
		if !follow {
			query.Set("follow", "false")
		}
	}
	if r.view == compacted {
		query.Set("view", "compact")
	}
	header := r.cursor != ""
	if header && (r.view == raw || r.view == compacted) {
		switch r.rand.IntN(3) {
		case 0:
			query.Set("after", "0") // the header counts
		case 1:
			query.Set("after", r.cursor)
			header = false
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if header {
		q.Header.Set("Last-Event-ID", r.cursor)
	}
	return q, nil
}

// read reads a response up to limit frames, if it is not negative. It reports whether it got
// to the end.
func (r *reader) read(body *bufio.Reader, limit int) (complete bool, err error) {
	connect := r.view == connected || r.view == followed
	current := &response{}
	if connect {
		r.responses = append(r.responses, current)
	}
	previous := r.position
	if connect {
		previous = 0 // it begins again
	}
	for ; limit != 0; limit-- {
		f, err := readFrame(body)
		if err == io.EOF {
			current.complete = true
			return true, nil
		}
		if err != nil {
			return false, err
		}
		position, after, err := f.position()
		switch {
		case err != nil:
			return false, err
		case f.id == "" && !connect:
			return false, fmt.Errorf("the event %.200q has no id", f.data)
		case after > 0 && r.view != compacted:
			return false, fmt.Errorf("the event %.200q has the id %s", f.data, f.id)
		case f.id != "" && (position < previous || position == previous && after == 0):
			return false, fmt.Errorf("the id %s follows position %d", f.id, previous)
		case f.id != "":
			previous = position
		}
		if r.view == raw || r.view == posted {
			if err := r.t.record(position, f.data); err != nil {
				return false, err
			}
		}
		if connect {
			current.frames = append(current.frames, f)
		} else {
			r.frames = append(r.frames, f)
		}
		done := false
		r.t.change(func() {
			r.position = max(r.position, position)
			if !connect {
				r.cursor = f.id
			}
			done = r.view != connected && r.enough()
		})
		if done {
			return false, nil
		}
	}
	return false, nil
}
