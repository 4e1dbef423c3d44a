//go:build client

package main

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
)

// The messages and the state rebuilt from every run, with and without its snapshots, are
// those of the reference client, up to the event that the client refuses.
func TestClientRebuilt(t *testing.T) {
	t.Chdir("../../../..")
	list, err := scenario.LoadList(t.Context(), "discovery/"+scenario.ScenariosName)
	if err != nil {
		t.Fatal(err)
	}
	all, err := readHarnesses(list)
	if err != nil {
		t.Fatal(err)
	}
	j := judge.Start(t)
	compared, whole := 0, 0
	for _, h := range all {
		for _, one := range h.details {
			for _, snapshots := range []bool{true, false} {
				compared++
				if compareWithClient(t, j, one, snapshots) {
					whole++
				}
			}
		}
	}
	if whole < 400 {
		t.Errorf("the client accepts only %d of %d streams", whole, compared)
	}
}

// compareWithClient compares the reducer and the client on one run. It reports whether the
// client accepts the whole run.
func compareWithClient(t *testing.T, j *judge.Judge, of runDetails, snapshots bool) (whole bool) {
	c, err := capture.Open(t.Context(), of.run.Capture, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		t.Fatal(err)
	}
	input := struct {
		Messages json.RawMessage `json:"messages"`
		State    json.RawMessage `json:"state"`
	}{json.RawMessage("[]"), json.RawMessage("{}")}
	if err := json.Unmarshal(request, &input); err != nil {
		t.Fatal(err)
	}
	var events []*envelope.Event
	var texts []string
	frames := &filteredFrames{Capture: c, run: *of.run.Run, keep: func(e *envelope.Event) bool {
		if snapshots || e.Type != envelope.MessagesSnapshot {
			events = append(events, e.Clone())
			texts = append(texts, string(e.Data))
		}
		return false
	}}
	for err == nil {
		_, err = frames.Next()
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	messages, state, err := j.ReduceFrom(string(input.Messages), string(input.State), texts)
	var refused *judge.Refused
	if errors.As(err, &refused) {
		events = events[:refused.Index]
	}
	r := reduce.New(reduce.Options{Dialect: reduce.Client})
	r.Seed(request)
	for _, e := range events {
		r.Event(e)
	}
	if got := string(r.AppendMessages(nil)); !judge.Equal(got, messages) {
		t.Errorf("%s, snapshots: %t: the messages are\n%s\nand the client's are\n%s", of.run.Capture, snapshots, got, messages)
	}
	if got := string(r.AppendState(nil)); !judge.Equal(got, state) {
		t.Errorf("%s, snapshots: %t: the state is\n%s\nand the client's is\n%s", of.run.Capture, snapshots, got, state)
	}
	return refused == nil
}
