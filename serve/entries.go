package serve

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/p20export/p20export/store"
)

const (
	// defaultEntries and maxEntries are the number of entries of a page.
	defaultEntries = 10_000
	maxEntries     = 100_000
	// maxNames limits the bytes of the types and the streams of a page, which is shorter if
	// there are more.
	maxNames = 4 << 20
	// positionBits limits positions in requests to the numbers that JavaScript has exactly.
	positionBits = 53
)

// entryList is a page of entries without their data, in columns.
type entryList struct {
	ThreadID string `json:"thread_id"`
	// First is the position of the first entry of the page, and Last that of the last entry of
	// the thread.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Types, Streams and Kinds are what the elements of Type, Stream and Kind count, from 0.
	Types   []string     `json:"types"`
	Streams []string     `json:"streams"`
	Kinds   []store.Kind `json:"kinds"`
	// Type is -1 if an entry has none.
	Type   []int `json:"type"`
	Kind   []int `json:"kind"`
	Stream []int `json:"stream"`
	// Run has the position of RUN_STARTED, or 0 if an entry belongs to no run.
	Run []int64 `json:"run"`
	// Bytes has the sizes of the data.
	Bytes []int `json:"bytes"`
	// Arrived has the times of arrival in microseconds since 1970 UTC, or null.
	Arrived []*int64 `json:"arrived"`
}

// listEntries serves GET /threads/{thread}/entries.
func (s *Server) listEntries(q *request) {
	limit, ok := s.limit(q, defaultEntries, maxEntries)
	if !ok {
		return
	}
	after := int64(0)
	if text := q.query.Get("after"); text != "" {
		n, err := strconv.ParseUint(text, 10, positionBits)
		if err != nil {
			s.refuse(q, InvalidQuery, "after is the position of an entry, or 0")
			return
		}
		after = int64(n)
	}
	s.buildDocument(q, func() (any, bool) {
		list, err := s.entries(q, after, limit)
		if err != nil {
			s.fail(q, err)
			return nil, false
		}
		return list, true
	})
}

// entries returns a page of entries.
func (s *Server) entries(q *request, after int64, limit int) (*entryList, error) {
	t, err := s.settings.Log.Thread(q.Context(), q.key())
	if err != nil {
		return nil, err
	}
	list := &entryList{
		ThreadID: t.Thread, First: after + 1, Last: t.Last,
		Types: []string{}, Streams: []string{}, Kinds: store.Kinds(),
		Type: []int{}, Kind: []int{}, Stream: []int{}, Run: []int64{}, Bytes: []int{}, Arrived: []*int64{},
	}
	types, streams, kinds := newNames(&list.Types), newNames(&list.Streams), map[store.Kind]int{}
	for i, kind := range list.Kinds {
		kinds[kind] = i
	}
	for e, err := range s.settings.Log.Select(q.Context(), q.key(), store.Selection{After: after, Bare: store.Kinds()}) {
		if err != nil {
			return nil, err
		}
		if len(list.Type) == limit || types.bytes+streams.bytes > maxNames {
			break
		}
		list.Type = append(list.Type, types.number(e.Type))
		list.Kind = append(list.Kind, kinds[e.Kind])
		list.Stream = append(list.Stream, streams.number(e.Stream))
		list.Run = append(list.Run, e.Run)
		list.Bytes = append(list.Bytes, int(e.Size))
		var arrived *int64
		if !e.Arrived.IsZero() {
			arrived = new(e.Arrived.UnixMicro())
		}
		list.Arrived = append(list.Arrived, arrived)
		list.Last = max(list.Last, e.Position) // it was appended meanwhile
	}
	return list, nil
}

// names numbers names in the order in which they first occur.
type names struct {
	list    *[]string
	numbers map[string]int
	bytes   int
}

func newNames(list *[]string) *names { return &names{list: list, numbers: map[string]int{}} }

// number returns the number of a name, or -1 if it is empty.
func (n *names) number(name string) int {
	if name == "" {
		return -1
	}
	i, ok := n.numbers[name]
	if !ok {
		i = len(*n.list)
		n.numbers[name] = i
		*n.list = append(*n.list, name)
		n.bytes += len(name)
	}
	return i
}

// errNoEntry means that a path names a position that the thread does not have.
var errNoEntry = errors.New("the thread has no entry at this position")

// entry serves GET /threads/{thread}/entries/{position}: the data of an entry, byte for byte.
func (s *Server) entry(q *request) {
	position, err := strconv.ParseUint(q.ids[1], 10, positionBits)
	if err != nil || position == 0 {
		s.refuse(q, InvalidID, "the position in the path is not a number from 1")
		return
	}
	s.build(q, s.heavy, func() (string, []byte, bool) {
		data, err := s.dataAt(q, int64(position))
		if err != nil {
			s.fail(q, err)
			return "", nil, false
		}
		q.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="entry-%d"`, position))
		return "application/octet-stream", data, true
	})
}

// dataAt returns the data of an entry. It is not nil.
func (s *Server) dataAt(q *request, position int64) ([]byte, error) {
	t, err := s.settings.Log.Thread(q.Context(), q.key())
	if err != nil {
		return nil, err
	}
	for e, err := range s.settings.Log.Select(q.Context(), q.key(), store.At(position)) {
		if err != nil {
			return nil, err
		}
		return append([]byte{}, e.Data...), nil
	}
	return nil, fmt.Errorf("%w: it ends at position %d", errNoEntry, t.Last)
}
