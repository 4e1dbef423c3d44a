package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// place is the place of an id in a decoded response: that of a JSON string with its quotes.
type place struct {
	start, end int64
	run        bool    // a run id, not a thread id
	user       *userID // if not nil, that of a user message
}

// userID is the id of a user message in a list of messages.
type userID struct {
	key    userKey
	first  bool       // of its list
	others []inputKey // the ids of the other messages between it and the last user message
}

// maxPlaces limits the number of places that are kept for one capture, and of the ids of other
// messages with them. Each run has about six, and each message one in each snapshot.
const maxPlaces = 1 << 20

// idsError matches ErrIDs. It says why the ids in a response cannot be replaced.
type idsError struct{ reason string }

func (e *idsError) Error() string        { return ErrIDs.Error() + ": " + e.reason }
func (e *idsError) Is(target error) bool { return target == ErrIDs }

var (
	errManyIDs = &idsError{"there are too many"}
	errOpaque  = &idsError{"it has none of the framings in which events can be read"}
	errSpread  = &idsError{"an event is spread over too many bytes"}
)

// findIDs returns the places of the ids to replace: those of the first run and of the
// recorded request, in the events that begin and end runs, and those of user messages, in
// requests that RUN_STARTED repeats and in snapshots.
func (c *recorded) findIDs(ctx context.Context) ([]place, error) {
	if c.status >= 400 && !c.readable() {
		return nil, nil // the page of an error
	}
	switch {
	case c.framing == capture.Opaque:
		return nil, errOpaque
	case !c.readable():
		return nil, &idsError{"it has the content coding " + finding.Quote(c.coding)}
	}
	file, err := c.openFile(c.response)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	source := &window{r: interrupted{ctx, file}}
	if c.coding != "" {
		d, err := c.decode(source.r)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		source.r = d
	}
	s := &search{recorded: c}
	if in := c.request; in != nil {
		s.know(in.threadID, in.runID)
	}
	frames := capture.NewSplitter(source, c.framing)
	for {
		frame, err := frames.Next()
		if err == io.EOF {
			return s.places, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, err
		}
		if err != nil {
			return nil, &idsError{err.Error()}
		}
		places := len(s.places)
		s.event(frame.Data)
		if len(s.places)+s.others > maxPlaces {
			return nil, errManyIDs
		}
		if added := s.places[places:]; len(added) > 0 {
			raw := source.slice(frame.Offset, frame.Bytes)
			if raw == nil {
				return nil, errSpread
			}
			for i := range added {
				added[i].relocate(frame.Offset, raw, frame.Data)
			}
		}
		source.drop = frame.Offset + frame.Bytes
	}
}

// readable reports whether events can be read from the response.
func (c *recorded) readable() bool {
	if c.framing == capture.Opaque {
		return false
	}
	if c.coding == "" {
		return true
	}
	d, err := capture.Decode(strings.NewReader(""), c.coding)
	if err == nil {
		d.Close()
	}
	return err == nil
}

// search finds ids in events.
type search struct {
	recorded *recorded
	begun    bool // a RUN_STARTED was read
	threads  []string
	runs     []string
	places   []place
	others   int // the ids of other messages in places
	decoder  strictjson.Decoder
	object   strictjson.Object
}

// know adds ids to those that are replaced.
func (s *search) know(thread, run strictjson.Value) {
	if thread.Kind == strictjson.String {
		text, _ := thread.Text()
		s.threads = append(s.threads, text)
	}
	if run.Kind == strictjson.String {
		text, _ := run.Text()
		s.runs = append(s.runs, text)
	}
}

// event finds the ids in an event. The offsets of their places count from the beginning of
// its data.
func (s *search) event(data []byte) {
	if _, err := strictjson.ReadText(&s.object, &s.decoder, data); err != nil {
		return // sent unchanged
	}
	kind, _ := s.object.Get("type")
	if kind.Is("MESSAGES_SNAPSHOT") {
		messages, _ := s.object.Get("messages")
		s.takeUsers(messages)
		return
	}
	started := kind.Is("RUN_STARTED")
	if !started && !kind.Is("RUN_FINISHED") && !kind.Is("RUN_ERROR") {
		return
	}
	thread, _ := s.object.Get("threadId")
	run, _ := s.object.Get("runId")
	if started && !s.begun {
		s.begun = true
		s.know(thread, run)
	}
	from := len(s.places)
	s.take(thread, run, 0)
	if in, _ := s.object.Get("input"); started && in.Kind == strictjson.ObjectStart {
		thread, _ := in.Member("threadId")
		run, _ := in.Member("runId")
		s.take(thread, run, in.Start)
		messages, _ := in.Member("messages")
		messages.Start += in.Start
		s.takeUsers(messages)
	}
	slices.SortFunc(s.places[from:], func(a, b place) int { return cmp.Compare(a.start, b.start) })
}

// takeUsers adds the places of the ids of user messages.
func (s *search) takeUsers(messages strictjson.Value) {
	first := true
	eachUser(messages, func(key userKey, id strictjson.Value, others []inputKey) {
		start := int64(id.Start)
		s.places = append(s.places, place{start: start, end: start + int64(len(id.Raw)), user: &userID{key, first, others}})
		s.others += len(others)
		first = false
	})
}

// take adds the places of ids that are replaced. Their offsets count from base.
func (s *search) take(thread, run strictjson.Value, base int) {
	for _, id := range []struct {
		value strictjson.Value
		known []string
		run   bool
	}{{thread, s.threads, false}, {run, s.runs, true}} {
		if id.value.Kind != strictjson.String {
			continue
		}
		if text, _ := id.value.Text(); slices.Contains(id.known, text) {
			start := int64(base + id.value.Start)
			s.places = append(s.places, place{start: start, end: start + int64(len(id.value.Raw)), run: id.run})
		}
	}
}

// relocate turns the place of an id in the data of a frame into its place in the response,
// where the frame has the bytes raw at an offset. An id is in one line.
func (p *place) relocate(offset int64, raw, data []byte) {
	n := p.end - p.start
	p.start = offset + int64(rawOffset(raw, data, int(p.start)))
	p.end = p.start + n
}

// rawOffset returns the offset in the bytes of a frame of the byte at an offset in its
// data. They differ if the data of an SSE event has several lines.
func rawOffset(raw, data []byte, at int) int {
	if len(raw) == len(data) {
		return at
	}
	line := 0 // offset in raw of the line of data
	for {
		n := bytes.IndexByte(data, '\n')
		if n < 0 || at <= n {
			return line + at
		}
		line = nextData(raw, line+n)
		data, at = data[n+1:], at-n-1
	}
}

// nextData returns the offset of the value of the next data field (WHATWG HTML §9.2.6). The
// end of a line is at from.
func nextData(raw []byte, from int) int {
	for {
		from += bytes.IndexAny(raw[from:], "\r\n") + 1
		if raw[from-1] == '\r' && from < len(raw) && raw[from] == '\n' {
			from++
		}
		rest, ok := bytes.CutPrefix(raw[from:], []byte("data"))
		if !ok {
			continue
		}
		switch {
		case len(rest) == 0 || rest[0] == '\r' || rest[0] == '\n':
			return from + len("data")
		case bytes.HasPrefix(rest, []byte(": ")):
			return from + len("data: ")
		case rest[0] == ':':
			return from + len("data:")
		}
	}
}

// window is a reader that keeps what was read since the last drop, up to a limit.
type window struct {
	r    io.Reader
	base int64 // offset of kept[0]
	kept []byte
	drop int64 // bytes before this offset are not needed
}

// maxWindow is enough for every event whose ids are found, with as many bytes between its
// lines as it has itself.
const maxWindow = 2 * capture.MaxEventBytes

func (w *window) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	unneeded := min(max(w.drop-w.base, 0), int64(len(w.kept)))
	if len(w.kept) > maxWindow {
		unneeded = int64(len(w.kept))
	}
	w.kept = append(w.kept[:copy(w.kept, w.kept[unneeded:])], p[:n]...)
	w.base += unneeded
	return n, err
}

// slice returns n bytes from an offset, or nil if they are not kept.
func (w *window) slice(offset, n int64) []byte {
	if offset < w.base {
		return nil
	}
	return w.kept[offset-w.base:][:n]
}

// interrupted is a reader of a file that ends when a context is done.
type interrupted struct {
	ctx context.Context
	r   io.Reader
}

func (i interrupted) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}

// editor is a reader that replaces ids.
type editor struct {
	r         io.Reader
	places    []place // in order, those not yet replaced
	in        *input
	at        int64 // offset in r
	from, out []byte
	rest      []byte // the part of out that Read has not returned yet
	err       error
}

// newEditor returns an editor that replaces the ids at places in r with those of a request.
// In a list of messages it replaces the ids of user messages up to the first message that the
// request does not have. A client keeps the messages it has where they are and puts the others
// behind them, so it would show a user message that it has before an earlier one that it has not.
func newEditor(r io.Reader, places []place, in *input) *editor {
	unknown := false // a message of the list is
	places = slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		if p.user == nil {
			return false
		}
		unknown = unknown && !p.user.first || in.users[p.user.key] == nil ||
			slices.ContainsFunc(p.user.others, func(id inputKey) bool { return !in.ids[id] })
		return unknown
	})
	return &editor{r: r, places: places, in: in, from: make([]byte, bufferBytes)}
}

func (e *editor) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		var n int
		n, e.err = e.r.Read(e.from)
		e.out = e.edit(e.out[:0], e.from[:n])
		e.rest = e.out
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// edit appends the next bytes of the response to out. An id is replaced when its last byte
// has arrived.
func (e *editor) edit(out, p []byte) []byte {
	for len(e.places) > 0 && len(p) > 0 {
		next := e.places[0]
		if e.at < next.start {
			n := min(next.start-e.at, int64(len(p)))
			out = append(out, p[:n]...)
			p, e.at = p[n:], e.at+n
			continue
		}
		n := min(next.end-e.at, int64(len(p)))
		p, e.at = p[n:], e.at+n
		if e.at == next.end {
			id := e.in.threadID.Raw
			switch {
			case next.user != nil:
				id = e.in.users[next.user.key]
			case next.run:
				id = e.in.runID.Raw
			}
			out, e.places = append(out, id...), e.places[1:]
		}
	}
	e.at += int64(len(p))
	return append(out, p...)
}
