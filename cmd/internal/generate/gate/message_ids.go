package main

import (
	"path"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
)

// messageIDs counts the message ids that an integration chose: ids that come neither from
// the request nor from the scripted model. Each id is counted once per run and place.
type messageIDs struct {
	streamed, snapshot shapes
	// valid counts the ids in both that are valid references under the contract.
	valid int
}

func newMessageIDs() messageIDs { return messageIDs{streamed: shapes{}, snapshot: shapes{}} }

func (m *messageIDs) add(of messageIDs) {
	m.streamed.add(of.streamed)
	m.snapshot.add(of.snapshot)
	m.valid += of.valid
}

// shapes counts ids by shape.
type shapes map[string]int

// total returns the number of ids.
func (s shapes) total() (n int) {
	for _, count := range s {
		n += count
	}
	return n
}

func (s shapes) add(of shapes) {
	for shape, n := range of {
		s[shape] += n
	}
}

// idCollector collects the message ids of a run. Ids of the scripted models consist of a
// word, the last part of the request's path and a number, separated by dashes. Ids of
// their tool calls begin with "call-".
type idCollector struct {
	requestIDs []string // ids of the request's messages
	scripted   *regexp.Regexp
	seen       map[[2]string]bool
	ids        messageIDs
}

func newIDCollector(request []byte, url string) (*idCollector, error) {
	r := &idCollector{scripted: regexp.MustCompile("^(call-.*|[a-z]+-" + regexp.QuoteMeta(path.Base(url)) + "-[0-9]+)$"), seen: make(map[[2]string]bool), ids: newMessageIDs()}
	var input struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	if request != nil {
		if err := json.Unmarshal(request, &input); err != nil {
			return nil, err
		}
	}
	for _, m := range input.Messages {
		r.requestIDs = append(r.requestIDs, m.ID)
	}
	return r, nil
}

// event collects the ids of one event.
func (r *idCollector) event(e *envelope.Event) {
	switch e.Type {
	case envelope.TextMessageStart, envelope.TextMessageChunk:
		r.add("streamed", r.ids.streamed, e.Object.Text("messageId"))
	case envelope.MessagesSnapshot:
		for _, m := range envelope.Messages(e) {
			r.add("snapshot", r.ids.snapshot, m.Text("id"))
		}
	}
}

func (r *idCollector) add(place string, to shapes, id string) {
	if id == "" || slices.Contains(r.requestIDs, id) || r.scripted.MatchString(id) || r.seen[[2]string{place, id}] {
		return
	}
	r.seen[[2]string{place, id}] = true
	to[analysis.Shape(id)]++
	if artifact.CheckReference(id) == "" {
		r.ids.valid++
	}
}
