//go:build client

package event_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
)

// TestClientSchemas compares strict decoding with the schemas of the reference client. They
// disagree only about events of unknown types, which a strict decode accepts.
func TestClientSchemas(t *testing.T) {
	j := judge.Start(t)
	compare := func(texts []string) {
		t.Helper()
		for i, problem := range j.Schemas(texts) {
			e, err := event.Decode([]byte(texts[i]), event.Under(event.V1))
			if _, unknown := e.(*event.Unknown); unknown {
				continue
			}
			if (problem == "") != (err == nil) {
				t.Errorf("%s: %v, but the schema says %q", texts[i], err, problem)
			}
		}
	}
	var texts []string
	for _, v := range variants() {
		texts = append(texts, v.text)
	}
	for _, c := range upgrades {
		texts = append(texts, c.text)
	}
	compare(texts)

	texts = nil
	rapid.Check(t, func(r *rapid.T) {
		texts = append(texts, valid(random{r}, rapid.SampledFrom(event.Types()).Draw(r, "type"), "", nil))
	})
	compare(texts)

	for seed := range uint64(judge.Streams(2000)) {
		r := rand.New(rand.NewPCG(seed, 17))
		events := judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches})
		compare(judge.Damage(r, events))
	}
}

// TestClientInputs compares strict decoding of requests with the client's schema.
func TestClientInputs(t *testing.T) {
	j := judge.Start(t)
	var texts []string
	for _, f := range event.Fields("RunAgentInput") {
		texts = append(texts, valid(first{}, "RunAgentInput", f.Name, nil))
		for _, value := range []string{"null", "7", `""`, "[]", "{}"} {
			texts = append(texts, valid(first{}, "RunAgentInput", "", map[string]string{f.Name: value}))
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		texts = append(texts, valid(random{r}, "RunAgentInput", "", nil))
	})
	for _, text := range texts {
		in, err := event.DecodeRunInput([]byte(text))
		problem := j.InputSchema(text)
		if (problem == "") != (err == nil) {
			t.Errorf("%s: %v, but the schema says %q", text, err, problem)
		}
		if err == nil {
			if problem := j.InputSchema(string(event.AppendRunInput(nil, in))); problem != "" {
				t.Errorf("%s is written so that the schema says %q", text, problem)
			}
		}
	}
}

// TestClientAccepts checks that the schemas accept what is written for the events that a
// strict decode accepts, and for tolerated events whose faults are not kept.
func TestClientAccepts(t *testing.T) {
	j := judge.Start(t)
	for seed := range uint64(judge.Streams(2000)) {
		r := rand.New(rand.NewPCG(seed, 18))
		events := judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy})
		var written []string
		for _, text := range events {
			var faults []event.Fault
			e, err := event.Decode([]byte(text), event.Tolerant(&faults))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			left := false
			for _, f := range faults {
				left = left || keeps[f.Tolerance] && f.Tolerance != event.UnknownKey || mayKeep[f.Tolerance]
			}
			if !left {
				written = append(written, string(event.Append(nil, e)))
			}
		}
		for i, problem := range j.Schemas(written) {
			if problem != "" {
				t.Errorf("%s: %s", written[i], problem)
			}
		}
	}
}

// TestClientFatal compares Fatal with what the client does with an event in a stream.
func TestClientFatal(t *testing.T) {
	j := judge.Start(t)
	texts := variants()
	for i, c := range upgrades {
		texts = append(texts, variant{fmt.Sprint("upgrade ", i), c.text})
	}
	for _, v := range texts {
		faults, err := event.Check([]byte(v.text), event.V1)
		if err != nil {
			t.Fatal(err)
		}
		fatal := false
		for _, f := range faults {
			fatal = fatal || f.Fatal
		}
		_, text := j.Pipeline([]string{v.text})
		// The text of an error of the schemas is an array; the other errors are about the
		// sequence of events.
		if refused := strings.HasPrefix(text, "["); refused != fatal {
			t.Errorf("%s %s: fatal is %v, but the client says %q", v.name, v.text, fatal, text)
		}
	}
}
