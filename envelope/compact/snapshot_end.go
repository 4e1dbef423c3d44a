package compact

import (
	"bytes"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// close ends a run, or a part of the stream outside of runs: it emits the conversation
// and the state if they changed, the conversation of a run in any case, and keeps both
// for runs that continue them.
func (s *snapshots) close() error {
	if !s.open && !s.messages.changed && !s.state.changed {
		return nil
	}
	list := s.list()
	if err := s.repeat(); err != nil {
		return err
	}
	if list == nil && (s.messages.snapshot || s.base.messages != nil) {
		list = []*message{}
	}
	if s.open || s.messages.changed {
		var err error
		if list, err = s.emitMessages(list); err != nil {
			return err
		}
	}
	if err := s.emitState(); err != nil {
		return err
	}
	s.held -= s.messages.bytes + s.state.bytes
	s.messages, s.state = messageWindow{}, stateWindow{}
	return s.keep(list)
}

// keep makes the conversation and the state the base of later runs.
func (s *snapshots) keep(list []*message) error {
	end := &ending{messages: list}
	size := endingBytes + len(s.run.thread) + len(s.run.run)
	if sameList(list, s.base.messages) && (list == nil) == (s.base.messages == nil) {
		end.messages = s.base.messages
	} else {
		size += len(list) * referenceBytes
	}
	end.state = s.shown.state
	if string(end.state) == string(s.base.state) {
		end.state = s.base.state
	} else {
		size += len(end.state)
	}
	s.base = end
	s.present = end.messages
	if s.started {
		s.seeded, s.unseeded = false, nil
		s.runs[s.run], s.latest[s.run.thread] = end, end
	}
	return s.retain(size)
}

// repeat counts the conversation, which list has left in s.out, and the state.
func (s *snapshots) repeat() error {
	s.repeated += int64(len(s.out)) + int64(len(s.shown.state))
	if s.repeated > s.limits.repeated {
		return findingAt(s.at, finding.CompactionLimit, "the conversations and states at the ends of runs have more than %d bytes for each byte of the events, and %d", repeatFactor, s.limits.repeated)
	}
	return nil
}

// retain counts n bytes that stay to the end of the stream.
func (s *snapshots) retain(n int) error {
	if s.kept += n; s.kept > s.limits.kept {
		return findingAt(s.at, finding.CompactionLimit, "the conversations and states at the ends of runs are larger than %d bytes", s.limits.kept)
	}
	return nil
}

// tooLong returns the error for an event that is longer than the limit.
func (s *snapshots) tooLong(kind string) error {
	return findingAt(s.at, finding.CompactionLimit, "the %s at the end of the run is longer than %d bytes", kind, s.limits.event)
}

// list returns the messages of the conversation. Those that the base has are shared
// with it.
func (s *snapshots) list() []*message {
	s.out = s.reducer.AppendMessages(s.out[:0])
	list := readMessages(strictjson.Value{Kind: strictjson.ArrayStart, Raw: s.out})
	var known history
	for i, m := range list {
		if i < len(s.base.messages) && m.same(s.base.messages[i]) {
			list[i] = s.base.messages[i]
			continue
		}
		if known == nil {
			known = history{}
			for _, m := range s.base.messages {
				known.add(m)
			}
		}
		if old := known[m.id]; old != nil && m.same(old) {
			list[i] = old
			continue
		}
		m.text = slices.Clone(m.text)
		s.kept += len(m.text) + messageBytes
	}
	return list
}

// emitMessages emits a MESSAGES_SNAPSHOT with the conversation, and returns its
// messages.
func (s *snapshots) emitMessages(list []*message) ([]*message, error) {
	if list == nil {
		// An empty snapshot would remove messages that are not in the stream.
		return nil, nil
	}
	before, now, err := s.beforeSnapshot(list)
	if err != nil {
		return nil, err
	}
	for _, data := range before {
		if err := s.emit(data); err != nil {
			return nil, err
		}
	}
	if !sameList(now, list) {
		list = now
		if err := s.reducer.Restore(appendMessages(nil, list), s.reducer.AppendState(nil)); err != nil {
			return nil, err
		}
	}
	clear := !hasActivity(list) && (hasActivity(s.shown.messages) || hasActivity(s.present))
	s.shown.messages = list
	if s.seeded {
		s.unseeded = list
	}
	s.out = appendSnapshot(s.out[:0], list, &s.messages.metadata, clear)
	if len(s.out) > s.limits.event {
		return nil, s.tooLong("MESSAGES_SNAPSHOT")
	}
	return list, s.emit(s.out)
}

// beforeSnapshot returns the events that have to precede a snapshot with a list, so that
// clients have exactly the list afterwards. In the first run, this includes a client that
// does not have the request. Usually no events are needed. But a snapshot adds messages
// only behind those that a client has, and removes reasoning only if it has some itself.
// In rare cases no events help. Then now is another list, the one that clients have after a
// snapshot with it.
func (s *snapshots) beforeSnapshot(list []*message) (before [][]byte, now []*message, err error) {
	clients := [][]*message{s.present}
	if s.seeded {
		clients = append(clients, s.unseeded)
	}
	if arePlain(clients, list) {
		return nil, list, nil
	}
	// Results of tool calls in older messages belong behind these. If the run added
	// the call to the message, a snapshot has to precede the result.
	results, old := s.resultsBetween(list)
	ways := [][][]byte{nil}
	if len(results) > 0 {
		ways = append(ways, results, append([][]byte{s.firstEvent(old)}, results...))
	}
	after := make([][][]*message, len(ways))
	for i, way := range ways {
		if after[i], err = s.play(clients, way); err != nil {
			return nil, nil, err
		}
		if arePlain(after[i], list) {
			return way, list, nil
		}
	}
	for i, way := range ways {
		if first, ok := firstSnapshot(after[i], list); ok {
			return append(way, s.firstEvent(first)), list, nil
		}
	}
	if s.seeded { // the client that sent the request counts
		s.seeded = false
		return s.beforeSnapshot(list)
	}
	for range 3 { // the second is usually enough
		first, ok := firstSnapshot(clients, list)
		before = [][]byte{s.firstEvent(first)}
		if ok {
			break
		}
		if list = merge(merge(s.present, first), list); isPlain(s.present, list) {
			return nil, list, nil
		}
	}
	return before, list, nil
}

// firstEvent returns a MESSAGES_SNAPSHOT that precedes the one that ends a run.
func (s *snapshots) firstEvent(list []*message) []byte {
	return appendSnapshot(nil, list, new(metadata), !hasActivity(list) && hasActivity(s.present))
}

// resultsBetween returns the tool results of the run whose messages are between messages
// from before it, in the order of the list, and those older messages.
func (s *snapshots) resultsBetween(list []*message) (results [][]byte, old []*message) {
	if len(s.messages.results) == 0 {
		return nil, nil
	}
	known := historyOf(s.present)
	last := -1
	for i, m := range list {
		if known[m.id] != nil {
			last = i
		}
	}
	byID := make(map[string][]byte)
	for _, r := range s.messages.results {
		byID[r.id] = r.data
	}
	for _, m := range list[:last+1] {
		if known[m.id] != nil {
			old = append(old, m)
		} else if data := byID[m.id]; data != nil {
			results = append(results, data)
		}
	}
	return results, old
}

// play returns the messages that clients have after events that follow the start of the
// run.
func (s *snapshots) play(clients [][]*message, events [][]byte) ([][]*message, error) {
	if events == nil {
		return clients, nil
	}
	after := make([][]*message, len(clients))
	for i, messages := range clients {
		client := reduce.New(s.options)
		if err := client.Restore(appendMessages(nil, messages), nil); err != nil {
			return nil, err
		}
		for _, data := range events {
			e, err := envelope.ReadEvent(data)
			if err != nil {
				return nil, err
			}
			client.Event(e)
		}
		after[i] = readMessages(strictjson.Value{Kind: strictjson.ArrayStart, Raw: client.AppendMessages(nil)})
	}
	return after, nil
}

// emitState emits a STATE_SNAPSHOT if the state changed, or differs from that of a client.
func (s *snapshots) emitState() error {
	w := &s.state
	state := s.reducer.AppendState(nil)
	if len(state) == 0 || !w.changed && bytes.Equal(state, s.shown.state) {
		return nil // a patch in the client's dialect may leave no value
	}
	s.shown.state = state
	s.out = append(append(s.out[:0], `{"type":"STATE_SNAPSHOT","snapshot":`...), state...)
	if w.metadata.present {
		s.out = w.metadata.append(append(s.out, `,"metadata":`...))
	}
	s.out = append(s.out, '}')
	if len(s.out) > s.limits.event {
		return s.tooLong("STATE_SNAPSHOT")
	}
	return s.emit(s.out)
}
