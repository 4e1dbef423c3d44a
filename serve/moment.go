package serve

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

const (
	// defaultMessages and maxMessages are the number of messages of a moment.
	defaultMessages = 100
	maxMessages     = 1000
	// maxMessage and maxEntryText limit the JSON text of a message, and the text of an entry.
	maxMessage   = 64 << 10
	maxEntryText = 64 << 10
	// cutContent is how much of the content of a message is shown that is too large.
	cutContent = 4 << 10
	// maxChanges limits each of the lists of what changed, and maxChanged a value in them.
	maxChanges = 200
	maxChanged = 4 << 10
	// maxState limits the state in a moment.
	maxState = 1 << 20
)

// momentOf is the conversation of a thread as of a position, with what its entry did.
type momentOf struct {
	ThreadID string `json:"thread_id"`
	Position int64  `json:"position"`
	// Last is the last position of the thread.
	Last  int64       `json:"last"`
	Entry momentEntry `json:"entry"`
	Run   *momentRun  `json:"run"`
	// Used has the positions of RUN_STARTED of the runs from which the conversation was restored.
	Used     []int64        `json:"used"`
	Messages momentMessages `json:"messages"`
	Changed  momentChanges  `json:"changed"`
	// State is null if it is too large, or patches left no value.
	State            jsontext.Value    `json:"state"`
	StateKnown       bool              `json:"state_known"`
	StateBytes       int               `json:"state_bytes"`
	StateCut         bool              `json:"state_cut,omitzero"`
	PendingToolCalls []string          `json:"pending_tool_calls"`
	Interrupts       jsontext.Value    `json:"interrupts"`
	Findings         []finding.Finding `json:"findings"`
}

// momentEntry is the entry at the position.
type momentEntry struct {
	Kind store.Kind `json:"kind"`
	// Origin says whose the entry is: agent, request or server.
	Origin string `json:"origin"`
	Stream string `json:"stream"`
	// Run is the position of RUN_STARTED of its run, or 0.
	Run     int64   `json:"run"`
	Type    string  `json:"type"`
	Arrived *string `json:"arrived"`
	Bytes   int     `json:"bytes"`
	// Text is the beginning of the entry, and Cut says that it is not all of it.
	Text string `json:"text"`
	Cut  bool   `json:"cut"`
}

// momentRun is the run to which the conversation belongs.
type momentRun struct {
	Position int64       `json:"position"`
	RunID    *string     `json:"run_id"`
	End      lineage.End `json:"end"`
}

// momentMessages are messages of a conversation, from an index on.
type momentMessages struct {
	Count int              `json:"count"`
	From  int              `json:"from"`
	List  []jsontext.Value `json:"list"`
	// Cut has the indexes of messages of the list that are too large, and only outlined.
	Cut []int `json:"cut"`
}

// momentChanges is what the entry did.
type momentChanges struct {
	Messages []messageChange `json:"messages"`
	State    []stateChange   `json:"state"`
	// More is the number of changes that are not listed.
	More int `json:"more"`
}

type messageChange struct {
	Index  int            `json:"index"`
	Change restore.Change `json:"change"`
	// Kept is how much of the beginning of the content stayed or, if Of is arguments, of those of
	// the last tool call.
	Kept int    `json:"kept"`
	Of   string `json:"of"`
}

type stateChange struct {
	Pointer finding.Pointer `json:"pointer"`
	Change  restore.Change  `json:"change"`
	Before  jsontext.Value  `json:"before,omitzero"`
	After   jsontext.Value  `json:"after,omitzero"`
	// Cut says that a value is omitted because it is too large.
	Cut bool `json:"cut,omitzero"`
}

// moment serves GET /threads/{thread}/moment: the conversation as of a position, and what its
// entry did.
func (s *Server) moment(q *request) {
	from, ok := s.number(q, "from", -1, 0, 1<<31-1)
	if !ok {
		return
	}
	limit, ok := s.number(q, "limit", defaultMessages, 1, maxMessages)
	if !ok {
		return
	}
	s.atMoment(q, func(m *restore.Moment) []byte { return s.encode(newMoment(m, int(from), int(limit))) })
}

// message serves GET /threads/{thread}/messages/{index}: a message as of a position.
func (s *Server) message(q *request) {
	index, err := strconv.Atoi(q.ids[1])
	if err != nil || index < 0 || q.ids[1] != strconv.Itoa(index) {
		s.refuse(q, NotFound, "the index of a message is a number from 0")
		return
	}
	s.atMoment(q, func(m *restore.Moment) []byte {
		if list := m.View.Messages(); index < len(list) {
			return list[index].AppendJSON(nil)
		}
		s.refuse(q, NotFound, fmt.Sprintf("the conversation has %d messages at position %d", len(m.View.Messages()), m.Position()))
		return nil
	})
}

// state serves GET /threads/{thread}/state: the state as of a position.
func (s *Server) state(q *request) {
	s.atMoment(q, func(m *restore.Moment) []byte {
		if text := m.View.AppendState(nil); len(text) > 0 {
			return text
		}
		return []byte("null")
	})
}

// number returns a parameter that is a number, or a default. If it is another, it refuses the
// request.
func (s *Server) number(q *request, name string, without, least, most int64) (n int64, ok bool) {
	text := q.query.Get(name)
	if text == "" {
		return without, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		s.refuse(q, InvalidQuery, fmt.Sprintf("%s is a number from %d to %d", name, least, most))
		return 0, false
	}
	return n, true
}

// atMoment answers a request with JSON that is made of the moment at its position, which is the
// last one by default. If make returns nil, it has answered the request.
func (s *Server) atMoment(q *request, make func(*restore.Moment) []byte) {
	const latest = 0
	position, ok := s.number(q, "position", latest, 1, 1<<63-1)
	if !ok {
		return
	}
	w := s.walkers.enter(q.Context(), q.key())
	if w == nil {
		if q.Context().Err() == nil {
			s.refuse(q, Overloaded, "too many clients read moments of the thread: try again")
		}
		return
	}
	useful := true
	leave := sync.OnceFunc(func() { s.walkers.leave(w, useful) })
	defer leave()
	s.build(q, s.heavy, func() (string, []byte, bool) {
		m, err := momentAt(q.Context(), w, position)
		useful = !errors.Is(err, store.ErrNoThread) && !errors.Is(err, store.ErrDeleted)
		leave()
		if err != nil {
			s.fail(q, err)
			return "", nil, false
		}
		text := make(m)
		return "application/json", text, text != nil
	})
}

// momentAt moves a walker to a position, or to the last one if it is 0.
func momentAt(ctx context.Context, w *walker, position int64) (*restore.Moment, error) {
	if position == 0 {
		var err error
		if position, err = w.Last(ctx); err != nil {
			return nil, err
		}
	}
	return w.Moment(ctx, position)
}

func newMoment(m *restore.Moment, from, limit int) *momentOf {
	about := m.About().Row()
	doc := &momentOf{
		ThreadID: about.ThreadID, Position: m.Position(), Last: m.Last, Entry: newMomentEntry(&m.Entry), Used: about.Used,
		StateKnown: m.View.HasState(), StateBytes: m.View.StateSize(), PendingToolCalls: about.PendingToolCalls,
		Interrupts: about.Interrupts, Findings: about.Findings, State: jsontext.Value("null"), Changed: newChanges(m),
	}
	if about.Run != nil {
		doc.Run = &momentRun{*about.Run, about.RunID, *about.End}
	}
	if doc.StateCut = doc.StateBytes > maxState; !doc.StateCut && doc.StateBytes > 0 {
		doc.State = m.View.AppendState(nil)
	}
	count := len(m.View.Messages())
	if from < 0 {
		from = max(0, count-limit)
		for _, c := range doc.Changed.Messages {
			if c.Change != restore.Removed {
				from = min(from, c.Index)
			}
		}
	}
	doc.Messages = momentMessages{Count: count, From: from, List: []jsontext.Value{}, Cut: []int{}}
	for i := from; i < min(count, from+limit); i++ {
		doc.Messages.add(i, m)
	}
	return doc
}

// add adds a message.
func (l *momentMessages) add(i int, m *restore.Moment) {
	of := m.View.Messages()[i]
	text := of.AppendJSON(nil)
	if len(text) > maxMessage {
		content, _ := of.Text()
		l.Cut = append(l.Cut, i)
		var o jsonvalue.Object
		o.Set("id", of.ID())
		o.Set("role", of.Role())
		o.Set("bytes", jsonvalue.Number(strconv.Itoa(len(text))))
		o.Set("content", beginning(content, cutContent))
		text = jsonvalue.Append(nil, &o)
	}
	l.List = append(l.List, text)
}

// beginning returns the beginning of a text, at most n bytes.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func newMomentEntry(e *store.Entry) momentEntry {
	row := momentEntry{Kind: e.Kind, Origin: "server", Stream: e.Stream, Run: e.Run, Type: e.Type, Bytes: len(e.Data), Cut: len(e.Data) > maxEntryText}
	switch e.Kind {
	case store.Event:
		row.Origin = "agent"
	case store.Input:
		row.Origin = "request"
	}
	if !e.Arrived.IsZero() {
		text := artifact.FormatTime(e.Arrived)
		row.Arrived = &text
	}
	row.Text = beginning(string(e.Data[:min(len(e.Data), maxEntryText+utf8.UTFMax)]), maxEntryText)
	return row
}

// newChanges returns what the entry did to the conversation.
func newChanges(m *restore.Moment) momentChanges {
	doc := momentChanges{Messages: []messageChange{}, State: []stateChange{}}
	for _, c := range m.MessageChanges() {
		if len(doc.Messages) == maxChanges {
			doc.More++
			continue
		}
		row := messageChange{c.Index, c.Change, c.Kept, "content"}
		if c.Arguments {
			row.Of = "arguments"
		}
		doc.Messages = append(doc.Messages, row)
	}
	list, more := m.StateChanges(maxChanges, maxChanged)
	doc.More += more
	for _, c := range list {
		doc.State = append(doc.State, stateChange{c.Pointer, c.Change, c.Before, c.After, c.Cut})
	}
	return doc
}
