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

// startedWithInput returns a RUN_STARTED with an input.
func startedWithInput(input string) string {
	return strings.TrimSuffix(started, "}") + `,"input":` + input + `}`
}

// Without a request, the input in RUN_STARTED is read by the same rules.
func TestFoldedInput(t *testing.T) {
	tried := 0
	for _, c := range requests {
		if _, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), []byte(c.request)); err != nil {
			continue // RUN_STARTED would be malformed too
		}
		tried++
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, folded, "", startedWithInput(c.request), textStart("a"), textContent("a", "Hello"), failed)
			if diff := cmp.Diff(orEmpty(c.messages), formatMessages(r.out)); diff != "" {
				t.Error(diff)
			}
			want := []string{"(request_absent)"}
			for _, f := range c.want {
				if !strings.Contains(f, "#") {
					f = strings.Replace(f, " /", " #0 /input/", 1)
				}
				want = append(want, f)
			}
			if diff := cmp.Diff(sorted(want), sorted(formatFindings(r.findings))); diff != "" {
				t.Error(diff)
			}
			if r.out == nil {
				return
			}
			want = []string{absent}
			for _, o := range c.left {
				want = append(want, strings.Replace(o, "request.json /", "#0 /input/", 1))
			}
			if diff := cmp.Diff(want, formatOmissions(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if tried < 20 {
		t.Errorf("only %d inputs were tried", tried)
	}
}

// Version 2 reads the input in RUN_STARTED; version 1 does not.
func TestFoldedVersions(t *testing.T) {
	first := project.Settings{Projection: project.FoldedStream, Version: 1}
	outside := "key_outside_subset #0 /input"
	input := request(user)
	for _, c := range []struct {
		name, request, started string
		s                      project.Settings
		messages, left         []string
		from                   string
	}{
		{"the input", "", startedWithInput(input), folded, []string{"u1/user: Hi", "a/assistant: Hello"}, []string{absent}, "the stream"},
		{"version 1", "", startedWithInput(input), first, []string{"a/assistant: Hello"}, []string{outside, absent}, "the stream"},
		{"no input", "", started, folded, []string{"a/assistant: Hello"}, []string{absent}, "the stream"},
		{"null", "", startedWithInput("null"), folded, []string{"a/assistant: Hello"}, []string{outside, absent}, "the stream"},
		{"a request", request(`{"id":"u2","role":"user","content":"Ho"}`), startedWithInput(input), folded, []string{"u2/user: Ho", "a/assistant: Hello"}, []string{outside}, "the request and the stream"},
		{"a request, version 1", input, startedWithInput("5"), first, []string{"u1/user: Hi", "a/assistant: Hello"}, []string{outside}, "the request and the stream"},
		{"a request of another run", strings.Replace(input, "r1", "r2", 1), startedWithInput(input), folded, []string{"a/assistant: Hello"}, []string{outside, "request_names_other_run request.json /runId"}, "the stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, c.s, c.request, c.started, textStart("a"), textContent("a", "Hello"), failed)
			if diff := cmp.Diff(c.messages, formatMessages(r.out)); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(c.left, formatOmissions(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
			built := r.findings[slices.IndexFunc(r.findings, func(f finding.Finding) bool { return f.Code == finding.SnapshotBuilt })]
			if want := "the message snapshot was built from " + c.from + "; the run emitted none"; built.Message != want {
				t.Errorf("%q, want %q", built.Message, want)
			}
			if taken := project.UsesRequest(r.out.Omissions); taken != (c.from != "the stream") {
				t.Errorf("UsesRequest = %t", taken)
			}
		})
	}
}

// Each run of a capture has its own input.
func TestFoldedInputs(t *testing.T) {
	second := strings.NewReplacer("r1", "r2", "u1", "u2").Replace(startedWithInput(request(user)))
	results := projectAll(t, input{Settings: folded, at: everySecond, raw: testkit.SSE(startedWithInput(request(user)), textStart("a"), textContent("a", "1"), failed, second, failed, startedWithInput("[]"), failed)})
	want := [][]string{{"u1/user: Hi", "a/assistant: 1"}, {"u2/user: Hi"}, {}}
	for i, r := range results {
		if diff := cmp.Diff(want[i], formatMessages(r.out)); diff != "" {
			t.Errorf("run %d: %s", i+1, diff)
		}
	}
	if diff := cmp.Diff([]string{"(request_absent)", "request_malformed #6 /input/messages"}, formatFindings(results[2].findings)); diff != "" {
		t.Error(diff)
	}
}

// A finding about a message of the input has an offset in the response.
func TestFoldedInputPlaces(t *testing.T) {
	bare := `{"role":"user","content":"bare"}`
	for _, input := range []string{request(user, bare), `{ "messages" : [` + bare + `]}`} {
		events := []string{startedWithInput(input), failed}
		r := projectRun(t, folded, "", events...)
		last := r.findings[len(r.findings)-1]
		if last.Code != finding.KeyMissing || last.Offset == nil || !strings.HasPrefix(testkit.SSE(events...)[*last.Offset:], bare) {
			t.Errorf("%s: %+v", input, last)
		}
	}
}

// A large input has the same outcome as a request of the same size.
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
			without := projectRun(t, folded, "", startedWithInput(c.input), failed)
			if found := formatFindings(with.findings); found[0] != c.want {
				t.Errorf("%q, want %q", found[0], c.want)
			}
			var got []string
			for _, f := range formatFindings(without.findings) {
				if f != "(request_absent)" {
					got = append(got, strings.Replace(f, " #0 /input/", " /", 1))
				}
			}
			if diff := cmp.Diff(sorted(formatFindings(with.findings)), sorted(got)); diff != "" {
				t.Error(diff)
			}
			if with.out == nil {
				return
			}
			more := func(r result) int { return len(r.out.Omissions) + r.out.Omissions[len(r.out.Omissions)-1].Count }
			if more(without) != more(with)+1 { // request_absent
				t.Errorf("%d omissions, %d with a request", more(without), more(with))
			}
		})
	}
}
