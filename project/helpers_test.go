package project_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	failed   = `{"type":"RUN_ERROR","message":"no"}`
	user     = `{"id":"u1","role":"user","content":"Hi"}`
	answer   = `{"id":"a1","role":"assistant","content":"Hello"}`
)

// snapshot returns a MESSAGES_SNAPSHOT with the messages.
func snapshot(messages ...string) string {
	return `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + `]}`
}

// textStart, textContent, textEnd and chunk return text events. More has further
// members.
func textStart(id string, more ...string) string {
	return `{"type":"TEXT_MESSAGE_START","messageId":"` + id + `"` + tail(more) + `}`
}

func textContent(id, delta string, more ...string) string {
	return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + id + `","delta":"` + delta + `"` + tail(more) + `}`
}

func textEnd(id string, more ...string) string {
	return `{"type":"TEXT_MESSAGE_END","messageId":"` + id + `"` + tail(more) + `}`
}

func chunk(members ...string) string { return `{"type":"TEXT_MESSAGE_CHUNK"` + tail(members) + `}` }

func tail(members []string) string {
	var b strings.Builder
	for _, m := range members {
		b.WriteString("," + m)
	}
	return b.String()
}

// base is the arrival time of the first event of a test. The following events arrive
// one second apart.
var base = time.Date(2026, 11, 21, 6, 28, 50, 0, time.UTC)

// arriving adds arrival times to the frames of a splitter.
type arriving struct {
	*capture.Splitter
	at func(index int) time.Time
}

func (a arriving) Next() (*capture.Frame, error) {
	f, err := a.Splitter.Next()
	if err == nil && a.at != nil {
		f.Arrived = a.at(f.Index)
	}
	return f, err
}

func everySecond(i int) time.Time { return base.Add(time.Duration(i) * time.Second) }

// tester is the part of testing.TB that helpers need. *rapid.T implements it.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// result is the outcome of projecting one run.
type result struct {
	run      *envelope.Run
	out      *project.Output
	findings []finding.Finding
}

// input is a capture and the settings for its runs.
type input struct {
	project.Settings
	raw     string
	framing capture.Framing
	request []byte
	at      func(index int) time.Time
}

// youngRules are the rules of the contract that older versions do not enforce.
var youngRules = []string{"A26", "A27", "A28", "A29"}

// projector projects every run of a capture.
type projector struct {
	t       tester
	in      input
	collect *project.Collector
	results []result
}

func (p *projector) Event(_ *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		p.collect = project.NewCollector(p.in.Settings)
	}
	p.collect.Observe(e)
}

func (p *projector) End(run *envelope.Run) error {
	out, findings := p.collect.Project(run, p.in.request, p.in.Settings)
	if (out == nil) != finding.Failed(findings) {
		p.t.Errorf("output %v with findings %v", out, formatFindings(findings))
	}
	if out != nil {
		_, broken := artifact.Decode(out.Bytes, p.in.Profile)
		if p.in.Version < p.in.Projection.Version() {
			broken = slices.DeleteFunc(broken, func(f finding.Finding) bool { return slices.Contains(youngRules, f.Rule) })
		}
		if finding.Failed(broken) || !artifact.IsCanonical(out.Bytes, out.Artifact) {
			p.t.Errorf("the artifact is refused or not canonical: %v\n%s", formatFindings(broken), out.Bytes)
		}
		if lines := strings.Count(string(out.Envelope), "\n"); lines != 3 || !strings.HasSuffix(string(out.Envelope), "\n") {
			p.t.Errorf("the envelope has %d lines:\n%s", lines, out.Envelope)
		}
	}
	p.results = append(p.results, result{run, out, findings})
	return nil
}

func projectAll(t tester, in input) []result {
	t.Helper()
	if err := in.Normalize(); err != nil {
		t.Fatal(err)
	}
	if in.framing == "" {
		in.framing = capture.SSE
	}
	p := &projector{t: t, in: in}
	if _, err := envelope.Scan(arriving{capture.NewSplitter(strings.NewReader(in.raw), in.framing), in.at}, p); err != nil {
		t.Fatal(err)
	}
	return p.results
}

// projectRun projects one run whose events arrive one second apart.
func projectRun(t tester, s project.Settings, request string, events ...string) result {
	t.Helper()
	in := input{Settings: s, raw: testkit.SSE(events...), at: everySecond}
	if request != "" {
		in.request = []byte(request)
	}
	results := projectAll(t, in)
	if len(results) != 1 {
		t.Fatalf("%d runs", len(results))
	}
	return results[0]
}

// formatFindings formats findings as "code #event pointer", with infos and warnings in
// parentheses.
func formatFindings(list []finding.Finding) []string {
	out := []string{}
	for _, f := range list {
		s := string(f.Code)
		if f.EventIndex != nil {
			s += fmt.Sprintf(" #%d", *f.EventIndex)
		}
		if f.Pointer != "" {
			s += " " + string(f.Pointer)
		}
		if f.Severity != finding.Error {
			s = "(" + s + ")"
		}
		out = append(out, s)
	}
	return out
}

// formatOmissions formats omissions as "reason #event pointer ×count".
func formatOmissions(list []project.Omission) []string {
	out := []string{}
	for _, o := range list {
		s := string(o.Reason)
		if o.EventIndex != nil {
			s += fmt.Sprintf(" #%d", *o.EventIndex)
		}
		if o.File != "" {
			s += " " + o.File
		}
		if o.Pointer != "" {
			s += " " + string(o.Pointer)
		}
		if o.Count != 0 {
			s += fmt.Sprintf(" ×%d", o.Count)
		}
		out = append(out, s)
	}
	return out
}

// formatMessages formats messages as "id/role/name: content".
func formatMessages(out *project.Output) []string {
	list := []string{}
	if out == nil {
		return list
	}
	for _, m := range out.Artifact.Messages {
		who := m.ID + "/" + m.Role
		if m.Name != "" {
			who += "/" + m.Name
		}
		list = append(list, who+": "+m.Content)
	}
	return list
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
