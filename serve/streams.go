package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// The read side of the Durable Streams protocol, in its JSON mode (durable-streams.com, version
// 1.0): each event of a thread, or of a run, is a message.

// The headers of the protocol.
const (
	nextOffset = "Stream-Next-Offset"
	upToDate   = "Stream-Up-To-Date"
	cursorName = "Stream-Cursor"
	closedName = "Stream-Closed"
)

// A streamQuery is the query of a request for a stream.
type streamQuery struct {
	options attach.BatchOptions
	live    string // "", "long-poll" or "sse"
	cursor  string // what the client got in Stream-Cursor, or ""
}

// threadStream serves GET /streams/{thread}.
func (s *Server) threadStream(q *request) {
	s.readStream(q, func() (attach.Source, error) { return attach.Source{}, nil })
}

// runStream serves GET /streams/{thread}/{run}.
func (s *Server) runStream(q *request) {
	s.readStream(q, func() (attach.Source, error) {
		return runs.Source(q.Context(), s.settings.Log, q.key(), q.ids[1])
	})
}

// readStream serves a stream.
func (s *Server) readStream(q *request, source func() (attach.Source, error)) {
	since := time.Now()
	q.w.Header().Set("Cross-Origin-Resource-Policy", "same-origin") // pages of other origins use CORS
	query, err := q.streamQuery()
	if err != nil {
		s.refuse(q, InvalidQuery, err.Error())
		return
	}
	leave, ok := s.reader(q)
	if !ok {
		return
	}
	defer leave()
	t, ok := s.thread(q, q.key())
	switch {
	case !ok:
		return
	case t.Last == 0:
		s.fail(q, store.ErrNoThread)
		return
	}
	if query.options.Source, err = source(); err != nil {
		s.fail(q, err)
		return
	}
	switch {
	case q.Method == http.MethodHead:
		query.live, query.options.After, query.options.Tail = "", attach.Cursor{}, true
		s.batch(q, query)
	case query.live == "sse":
		q.w.Header().Set("Cache-Control", "no-cache, no-store")
		s.stream(q, response{view: Streams, texts: s.streamEvents(q, query), wait: true, endless: true}, since)
	default:
		s.batch(q, query)
	}
}

// offset matches the offsets of this server: positions of the same length, so that they are
// ordered like their text, and checks.
var offset = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{16})-([0-9a-f]{8})$`) })

// formatOffset returns the offset after an event.
func formatOffset(c attach.Cursor) string { return fmt.Sprintf("%016d-%08x", c.Position, c.Check) }

// streamQuery reads the query of a request for a stream.
func (q *request) streamQuery() (streamQuery, error) {
	s := streamQuery{live: q.query.Get("live"), cursor: q.query.Get("cursor")}
	text := q.query.Get("offset")
	switch {
	case s.live != "" && s.live != "long-poll" && s.live != "sse":
		return s, errors.New("live is long-poll or sse")
	case s.live != "" && !q.query.Has("offset"):
		return s, errors.New("live needs offset")
	case text == "-1" || !q.query.Has("offset"):
		return s, nil
	case text == "now":
		s.options.Tail = true
		return s, nil
	}
	m := offset().FindStringSubmatch(text)
	if m == nil {
		return s, errors.New("offset is not one of this stream, now or -1")
	}
	position, _ := strconv.ParseInt(m[1], 10, 64)
	check, _ := strconv.ParseUint(m[2], 16, 32)
	s.options.After = attach.Cursor{Position: position, Check: uint32(check)}
	if (position == 0) != (check == 0) {
		return s, errors.New("offset is not one of this stream, now or -1")
	}
	return s, nil
}

// errOffset means that a client has an offset that the log lost.
var errOffset = errors.New("the log was rewound, and does not have the event before this offset: begin with the offset -1")

// offsetError returns errOffset for store.ErrRewound, and any other error as it is.
func offsetError(err error) error {
	if errors.Is(err, store.ErrRewound) {
		return errOffset
	}
	return err
}

// batches returns the batches of a stream, until some time after the first one has passed.
func (s *Server) batches(q *request, query streamQuery, most time.Duration) iter.Seq2[attach.Batch, error] {
	return func(yield func(attach.Batch, error) bool) {
		ctx, cancel := context.WithCancel(q.Context())
		defer cancel()
		var over *time.Timer
		for b, err := range s.hub.Batches(ctx, q.key(), query.options) {
			switch {
			case err != nil && ctx.Err() != nil && q.Context().Err() == nil:
				return
			case err == nil && over == nil:
				over = time.AfterFunc(most, cancel)
				defer over.Stop()
			}
			if !yield(b, offsetError(err)) {
				return
			}
		}
	}
}

// batch answers with a batch. A long poll waits until there is one with events.
func (s *Server) batch(q *request, query streamQuery) {
	var last attach.Batch
	for b, err := range s.batches(q, query, s.settings.PollTime) {
		switch {
		case err != nil:
			s.fail(q, err)
			return
		case query.live == "" || len(b.Events) > 0 || b.Closed:
			s.sendBatch(q, query, b) // the events are valid until the next iteration
			return
		}
		last = b
	}
	s.sendBatch(q, query, last)
}

// sendBatch sends a batch as a document.
func (s *Server) sendBatch(q *request, query streamQuery, b attach.Batch) {
	h := q.w.Header()
	h.Set(nextOffset, formatOffset(b.Next))
	if b.UpToDate {
		h.Set(upToDate, "true")
	}
	if b.Closed {
		h.Set(closedName, "true")
	}
	if q.Method == http.MethodHead { // whose length is that of no GET
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		q.w.WriteHeader(http.StatusOK)
		return
	}
	if query.live != "" {
		h.Set(cursorName, query.nextCursor())
		if len(b.Events) == 0 {
			h.Set("Cache-Control", "no-store")
			q.w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if !query.options.Tail {
		tag := fmt.Sprintf(`"%s:%s:%t"`, formatOffset(query.options.After), formatOffset(b.Next), b.Closed)
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache") // a cache asks each time, with the tag
		if matches(q.Header, tag) {
			q.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	s.writeText(q, http.StatusOK, "application/json", appendArray(nil, b.Events, ""))
}

// matches reports whether a client has what a tag stands for (RFC 9110 §13.1.2).
func matches(h http.Header, tag string) bool {
	for text := range strings.SplitSeq(strings.Join(h.Values("If-None-Match"), ","), ",") {
		if text = strings.TrimSpace(text); text == "*" || strings.TrimPrefix(text, "W/") == tag {
			return true
		}
	}
	return false
}

// appendArray appends JSON values as an array. With a prefix, each line begins with it.
func appendArray(b []byte, values [][]byte, prefix string) []byte {
	end := ""
	if prefix != "" {
		end = "\n" + prefix
	}
	b = append(b, prefix...)
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, end...)
		if prefix != "" {
			v = bytes.ReplaceAll(v, []byte("\n"), []byte(end))
		}
		b = append(b, v...)
	}
	b = append(b, end...)
	return append(b, ']')
}

// streamEvents returns the batches of a stream as server-sent events, for some time.
func (s *Server) streamEvents(q *request, query streamQuery) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		first := true
		for b, err := range s.batches(q, query, 3*s.settings.PollTime) {
			var text []byte
			if len(b.Events) > 0 {
				text = append(appendArray([]byte("event: data\n"), b.Events, "data:"), "\n\n"...)
			}
			if err == nil && (first || len(b.Events) > 0 || b.Closed) {
				text = append(text, "event: control\ndata:"...)
				text = append(text, query.control(b)...)
				text = append(text, "\n\n"...)
			}
			if first = false; !yield(text, err) {
				return
			}
		}
	}
}

// control returns the data of the control event after a batch.
func (query *streamQuery) control(b attach.Batch) []byte {
	c := control{Next: formatOffset(b.Next), UpToDate: b.UpToDate, Closed: b.Closed}
	if !b.Closed {
		query.cursor = query.nextCursor()
		c.Cursor = query.cursor
	}
	text, _ := json.Marshal(c) // which cannot fail
	return text
}

// control is the data of a control event.
type control struct {
	Next     string `json:"streamNextOffset"`
	Cursor   string `json:"streamCursor,omitempty"`
	UpToDate bool   `json:"upToDate,omitzero"`
	Closed   bool   `json:"streamClosed,omitzero"`
}

const (
	// cursorTime is the length of the intervals whose numbers are cursors.
	cursorTime = 20 * time.Second
	// cursorJitter is the most by which a cursor exceeds one that a client already has, in
	// intervals: an hour.
	cursorJitter = int64(time.Hour / cursorTime)
)

// nextCursor returns a cursor for a live response: the number of the interval since a fixed
// time, or a larger one than that of the client, so that no cache answers it with what it has
// (Durable Streams §8.1).
func (query *streamQuery) nextCursor() string {
	now := int64(time.Since(time.Date(2024, 10, 9, 0, 0, 0, 0, time.UTC)) / cursorTime)
	if had, err := strconv.ParseInt(query.cursor, 10, 64); err == nil && had >= now && had < math.MaxInt64-cursorJitter {
		now = had + 1 + rand.Int64N(cursorJitter)
	}
	return strconv.FormatInt(now, 10)
}
