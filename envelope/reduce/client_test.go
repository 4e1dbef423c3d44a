//go:build client

package reduce

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
)

// TestClientReduce compares messages and state with those of the reference client at the
// end of generated streams. The client removes encryptedValueType, because it is of AG-UI
// 1.0.
func TestClientReduce(t *testing.T) {
	j := judge.Start(t)
	newer := regexp.MustCompile(`,"encryptedValueType":"[^"]*"`)
	with := judge.Legacy | judge.UnknownOperations | judge.UnknownTypes | judge.ExtraKeys | judge.UnknownKinds | judge.EncryptedTypes
	for seed := range uint64(judge.Streams(2000)) {
		events := judge.Generate(rand.New(rand.NewPCG(seed, 17)), judge.Generator{With: with})
		r := New(Options{Dialect: Client})
		apply(t, r, judge.WithoutBinaryResults(events)...)
		check(t, r)
		messages, state, err := j.ReduceFrom("[]", judge.FirstState(events), events)
		if err != nil {
			t.Fatalf("seed %d: the client refuses the stream: %v", seed, err)
		}
		if got := newer.ReplaceAllString(string(r.AppendMessages(nil)), ""); !judge.Equal(got, withThinkingIDs(t, messages, r)) {
			t.Errorf("seed %d: messages\n%s, want\n%s\n%s", seed, got, messages, strings.Join(events, "\n"))
		}
		if got := string(r.AppendState(nil)); !judge.Equal(got, state) {
			t.Errorf("seed %d: state\n%s, want\n%s\n%s", seed, got, state, strings.Join(events, "\n"))
		}
		if t.Failed() {
			return
		}
	}
}

// withThinkingIDs returns the client's messages with the ids that a Reducer gives to
// messages of THINKING events.
func withThinkingIDs(t *testing.T, messages string, r *Reducer) string {
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(messages), &list); err != nil {
		t.Fatal(err)
	}
	i := 0
	for m := range r.conversation.All {
		if i < len(list) && strings.HasPrefix(m.id, "thinking-") {
			messages = strings.ReplaceAll(messages, `"`+list[i].ID+`"`, `"`+m.id+`"`)
		}
		i++
	}
	return messages
}

// TestClientSeeded does the same for a client that begins with messages and a state, which
// a Reducer has from a request.
func TestClientSeeded(t *testing.T) {
	j := judge.Start(t)
	for seed := range uint64(judge.Streams(500)) {
		random := rand.New(rand.NewPCG(seed, 18))
		before := New(Options{Dialect: Client})
		apply(t, before, judge.Generate(random, judge.Generator{})...)
		messages, state := string(before.AppendMessages(nil)), string(before.AppendState(nil))
		r := New(Options{Dialect: Client})
		if found := r.Seed([]byte(`{"messages":` + messages + `,"state":` + state + `}`)); found != nil {
			t.Fatal(found)
		}
		events := judge.Generate(random, judge.Generator{})
		apply(t, r, events...)
		check(t, r)
		wantMessages, wantState, err := j.ReduceFrom(messages, state, events)
		if err != nil {
			t.Fatalf("seed %d: the client refuses the stream: %v", seed, err)
		}
		if got := string(r.AppendMessages(nil)); !judge.Equal(got, wantMessages) {
			t.Fatalf("seed %d: messages\n%s, want\n%s", seed, got, wantMessages)
		}
		if got := string(r.AppendState(nil)); !judge.Equal(got, wantState) {
			t.Fatalf("seed %d: state\n%s, want\n%s", seed, got, wantState)
		}
	}
}
