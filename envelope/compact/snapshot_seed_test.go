package compact

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// seededStream returns the last runs of a generated stream, and the request of a client that
// has the messages and the state of the runs before them.
func seededStream(t testing.TB, r *rand.Rand) (request []byte, events []string) {
	t.Helper()
	events = withoutParents(judge.Generate(r, closed))
	starts := []int{0} // some streams have no run
	for i, text := range events {
		if e, err := envelope.ReadEvent([]byte(text)); err != nil {
			t.Fatal(err)
		} else if e.Type == eventnames.RunStarted {
			starts = append(starts, i)
		}
	}
	at := starts[len(starts)/2]
	messages, state := reduced(t, events[:at])
	var sent []*message // a client does not send activities
	for _, m := range readMessages(strictjson.Value{Kind: strictjson.ArrayStart, Raw: []byte(messages)}) {
		if !m.activity {
			sent = append(sent, m)
		}
	}
	return fmt.Appendf(nil, `{"messages":%s,"state":%s}`, appendMessages(nil, sent), state), events[at:]
}

// TestSnapshotSeedLaws checks on generated streams that a client with the request has the
// same messages and state before and after, and that compacting again with the request
// changes nothing. A client without the request has the same after the copy too, except
// in rare cases.
func TestSnapshotSeedLaws(t *testing.T) {
	whole, streams := 0, judge.Streams(500)
	for seed := range uint64(streams) {
		request, events := seededStream(t, rand.New(rand.NewPCG(seed, 4)))
		got, _, err := snapshotFrom(t, Options{}, request, events)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		list := string(request) + "\n" + strings.Join(events, "\n") + "\nbecomes\n" + strings.Join(got, "\n")
		again, _, err := snapshotFrom(t, Options{}, request, got)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("seed %d: compacting again changes the stream: first -, then +:\n%s\n%s", seed, diff, list)
		}
		if found := breaches(t, got); len(found) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, found, list)
		}
		messages, state := reducedFrom(t, request, events)
		nowMessages, nowState := reducedFrom(t, request, got)
		if state != nowState {
			t.Fatalf("seed %d: the state is\n%s\nand then\n%s\n%s", seed, state, nowState, list)
		}
		if hasRepeats(t, got) {
			continue
		}
		if messages != nowMessages && !isMoved(t, messages, nowMessages) {
			t.Fatalf("seed %d: the messages are\n%s\nand then\n%s\n%s", seed, messages, nowMessages, list)
		}
		if freshMessages, freshState := reduced(t, got); freshMessages == nowMessages && freshState == nowState {
			whole++
		}
	}
	if whole < streams*9/10 {
		t.Errorf("a client without the request has the conversation of only %d streams", whole)
	}
}

func TestSnapshotSeed(t *testing.T) {
	const (
		finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
		user     = `{"id":"u","role":"user","content":"Hi"}`
		answer   = `{"id":"a","role":"assistant","content":"Hello"}`
		next     = `{"id":"n","role":"user","content":"More"}`
		reply    = `{"id":"b","role":"assistant","content":"Yes"}`
	)
	start := func(members string) string {
		return `{"type":"RUN_STARTED","threadId":"t","runId":"r"` + members + `}`
	}
	input := func(messages string) string { return `,"input":{"messages":[` + messages + `]}` }
	all := func(messages ...string) string {
		return `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + `]}`
	}
	for name, test := range map[string]struct {
		request string
		events  []string
		want    []string
		codes   []finding.Code
	}{
		"messages of the request": {
			request: `{"messages":[` + user + `,` + answer + `,` + next + `],"state":{}}`,
			events:  []string{start(""), chunk("b", "Yes"), finished},
			want:    []string{start(""), all(user, answer, next, reply), finished},
		},
		"an input stays as it was sent": {
			request: `{"messages":[` + user + `,` + answer + `,` + next + `]}`,
			events:  []string{start(input(user + `,` + answer + `,` + next)), chunk("b", "Yes"), finished},
			want:    []string{start(input(user + `,` + answer + `,` + next)), all(user, answer, next, reply), finished},
		},
		"an input with the last message": {
			request: `{"messages":[` + user + `,` + answer + `,` + next + `]}`,
			events:  []string{start(input(next)), chunk("b", "Yes"), finished},
			// A client without the request would have n first.
			want: []string{start(input(next)), all(), all(user, answer, next, reply), finished},
		},
		"a parent that the stream does not have": {
			request: `{"messages":[` + user + `]}`,
			events:  []string{start(`,"parentRunId":"p"`), chunk("b", "Yes"), finished},
			want:    []string{start(`,"parentRunId":"p"`), all(user, reply), finished},
		},
		"a message that differs": {
			request: `{"messages":[` + user + `]}`,
			events:  []string{start(input(`{"id":"u","role":"user","content":"hi"}`)), finished},
			want:    []string{start(input(`{"id":"u","role":"user","content":"hi"}`)), all(user), finished},
			codes:   []finding.Code{finding.InputMessageDiffers},
		},
		"the state of the request": {
			request: `{"messages":[],"state":{"n":1}}`,
			events:  []string{start(""), `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`, finished},
			want:    []string{start(""), `{"type":"STATE_SNAPSHOT","snapshot":{"n":2}}`, finished},
		},
		"a state that does not change": {
			request: `{"state":{"n":1}}`,
			events:  []string{start(""), finished},
			want:    []string{start(""), `{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`, finished},
		},
		"an empty state": {
			request: `{"state":{}}`,
			events:  []string{start(""), finished},
			want:    []string{start(""), finished},
		},
		"events before the run": {
			request: `{"messages":[` + user + `]}`,
			events:  []string{chunk("b", "Yes"), start(input(user)), finished},
			want:    []string{all(user, reply), start(input("")), all(user, reply), finished},
		},
		"not a request": {
			request: `[]`,
			events:  []string{start(""), finished},
			want:    []string{start(""), finished},
			codes:   []finding.Code{finding.RequestMalformed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, codes, err := snapshotFrom(t, Options{}, []byte(test.request), test.events)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if diff := cmp.Diff(test.codes, codes); diff != "" {
				t.Errorf("findings: want -, got +:\n%s", diff)
			}
			for _, request := range []string{test.request, "{}"} {
				again, _, err := snapshotFrom(t, Options{}, []byte(request), got)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(got, again); diff != "" {
					t.Errorf("compacting again changes it: first -, then +:\n%s", diff)
				}
			}
		})
	}
}

// The limit of what is kept counts the request.
func TestSeedLimit(t *testing.T) {
	request := []byte(`{"messages":[{"id":"m","role":"user"}],"state":{"n":1}}`)
	l := defaultLimits
	l.kept = endingBytes + len(`{"id":"m","role":"user"}`) + messageBytes + referenceBytes + len(`{"n":1}`)
	if err := newCompactor(Options{Mode: ModeSnapshot}, emitTo(t, new([]string)), l).Seed(request); err != nil {
		t.Error(err)
	}
	l.kept--
	err := newCompactor(Options{Mode: ModeSnapshot}, emitTo(t, new([]string)), l).Seed(request)
	if f, ok := errors.AsType[finding.Finding](err); !ok || f.Code != finding.CompactionLimit {
		t.Errorf("%v", err)
	}
}
