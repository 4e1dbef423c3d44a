package project_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

// asked spells a RUN_STARTED with an input.
func asked(input string) string {
	return strings.TrimSuffix(started, "}") + `,"input":` + input + `}`
}

// Without a request the input in RUN_STARTED is read, by the same rules.
func TestFoldedInput(t *testing.T) {
	tried := 0
	for _, c := range requests {
		if _, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), []byte(c.request)); err != nil {
			continue // then RUN_STARTED is no event either
		}
		tried++
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, folded, "", asked(c.request), textStart("a"), textContent("a", "Hello"), failed)
			if diff := cmp.Diff(orEmpty(c.said), said(r.out)); diff != "" {
				t.Error(diff)
			}
			want := []string{"(request_absent)"}
			for _, f := range c.want {
				if !strings.Contains(f, "#") {
					f = strings.Replace(f, " /", " #0 /input/", 1)
				}
				want = append(want, f)
			}
			if diff := cmp.Diff(sorted(want), sorted(brief(r.findings))); diff != "" {
				t.Error(diff)
			}
			if r.out == nil {
				return
			}
			want = []string{absent}
			for _, o := range c.left {
				want = append(want, strings.Replace(o, "request.json /", "#0 /input/", 1))
			}
			if diff := cmp.Diff(want, left(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if tried < 20 {
		t.Errorf("only %d inputs were tried", tried)
	}
}

// What version 2 reads of RUN_STARTED's input, and what version 1 does.
func TestFoldedVersions(t *testing.T) {
	first := project.Settings{Projection: project.FoldedStream, Version: 1}
	outside := "key_outside_subset #0 /input"
	input := request(user)
	for _, c := range []struct {
		name, request, started string
		s                      project.Settings
		said, left             []string
		from                   string
	}{
		{"the input", "", asked(input), folded, []string{"u1/user: Hi", "a/assistant: Hello"}, []string{absent}, "the stream"},
		{"version 1", "", asked(input), first, []string{"a/assistant: Hello"}, []string{outside, absent}, "the stream"},
		{"no input", "", started, folded, []string{"a/assistant: Hello"}, []string{absent}, "the stream"},
		{"null", "", asked("null"), folded, []string{"a/assistant: Hello"}, []string{outside, absent}, "the stream"},
		{"a request", request(`{"id":"u2","role":"user","content":"Ho"}`), asked(input), folded, []string{"u2/user: Ho", "a/assistant: Hello"}, []string{outside}, "the request and the stream"},
		{"a request, version 1", input, asked("5"), first, []string{"u1/user: Hi", "a/assistant: Hello"}, []string{outside}, "the request and the stream"},
		{"a request of another run", strings.Replace(input, "r1", "r2", 1), asked(input), folded, []string{"a/assistant: Hello"}, []string{outside, "request_names_other_run request.json /runId"}, "the stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, c.s, c.request, c.started, textStart("a"), textContent("a", "Hello"), failed)
			if diff := cmp.Diff(c.said, said(r.out)); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(c.left, left(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
			built := r.findings[slices.IndexFunc(r.findings, func(f finding.Finding) bool { return f.Code == finding.SnapshotBuilt })]
			if want := "the message snapshot was built from " + c.from + "; the run emitted none"; built.Message != want {
				t.Errorf("%q, want %q", built.Message, want)
			}
			if taken := project.FromRequest(r.out.Omissions); taken != (c.from != "the stream") {
				t.Errorf("RequestTaken is %t", taken)
			}
		})
	}
}

// Every run of a capture has an input of its own.
func TestFoldedInputs(t *testing.T) {
	second := strings.NewReplacer("r1", "r2", "u1", "u2").Replace(asked(request(user)))
	results := projectAll(t, input{Settings: folded, at: everySecond, raw: testkit.SSE(asked(request(user)), textStart("a"), textContent("a", "1"), failed, second, failed, asked("[]"), failed)})
	want := [][]string{{"u1/user: Hi", "a/assistant: 1"}, {"u2/user: Hi"}, {}}
	for i, r := range results {
		if diff := cmp.Diff(want[i], said(r.out)); diff != "" {
			t.Errorf("run %d: %s", i+1, diff)
		}
	}
	if diff := cmp.Diff([]string{"(request_absent)", "request_malformed #6 /input/messages"}, brief(results[2].findings)); diff != "" {
		t.Error(diff)
	}
}

// A finding about a message of the input has its place in the response.
func TestFoldedInputPlaces(t *testing.T) {
	bare := `{"role":"user","content":"bare"}`
	for _, input := range []string{request(user, bare), `{ "messages" : [` + bare + `]}`} {
		events := []string{asked(input), failed}
		r := projectRun(t, folded, "", events...)
		last := r.findings[len(r.findings)-1]
		if last.Code != finding.KeyMissing || last.Offset == nil || !strings.HasPrefix(testkit.SSE(events...)[*last.Offset:], bare) {
			t.Errorf("%s: %+v", input, last)
		}
	}
}

// However much an input holds, it is judged as a request that holds as much.
func TestFoldedInputBounds(t *testing.T) {
	many := func(n int, element string) string {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, element+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for _, c := range []struct{ name, input, want string }{
		{"messages", request(many(1_000_000, `{"id":"%d","role":"user","content":"x"}`)), "messages_too_many /messages"},
		{"roles", request(user, many(20_000, `{"id":"%d","role":"x"}`)), "(snapshot_built)"},
		{"numbers", request(many(900, `%d`)), "request_malformed /messages/0"},
		{"keys", `{"messages":[` + user + `],` + many(20_000, `"%d":0`) + `}`, "(snapshot_built)"},
		{"text", request(`{"id":"u","role":"user","content":"` + strings.Repeat("x", 64<<20-200) + `"}`), "file_too_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			with := projectRun(t, folded, c.input, started, failed)
			without := projectRun(t, folded, "", asked(c.input), failed)
			if found := brief(with.findings); found[0] != c.want {
				t.Errorf("%q, want %q", found[0], c.want)
			}
			var got []string
			for _, f := range brief(without.findings) {
				if f != "(request_absent)" {
					got = append(got, strings.Replace(f, " #0 /input/", " /", 1))
				}
			}
			if diff := cmp.Diff(sorted(brief(with.findings)), sorted(got)); diff != "" {
				t.Error(diff)
			}
			if with.out == nil {
				return
			}
			more := func(r result) int { return len(r.out.Omissions) + r.out.Omissions[len(r.out.Omissions)-1].Count }
			if more(without) != more(with)+1 { // the absence of the request
				t.Errorf("%d omissions, %d with a request", more(without), more(with))
			}
		})
	}
}
