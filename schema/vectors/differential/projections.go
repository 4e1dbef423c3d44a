package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// A captured is a capture to project, and the settings for its runs.
type captured struct {
	framing  capture.Framing
	response []byte
	request  []byte // nil if there is none
	arrivals []byte // nil if there are none
	started  time.Time
	settings []project.Settings
}

// A setting is one of the settings in the form of the protocol.
type setting struct {
	Projection project.Name      `json:"projection"`
	Snapshot   project.Selection `json:"snapshot"`
	Profile    artifact.Profile  `json:"profile"`
	StartedAt  string            `json:"started_at,omitzero"`
	FinishedAt string            `json:"finished_at,omitzero"`
}

func (s setting) String() string {
	text := fmt.Sprintf("%s, snapshot %s, %s", s.Projection, s.Snapshot, s.Profile)
	if s.StartedAt != "" {
		text += fmt.Sprintf(", times %s to %q", s.StartedAt, s.FinishedAt)
	}
	return text
}

func settingOf(s project.Settings) setting {
	return setting{s.Projection, s.Snapshot, s.Profile, s.Operator.StartedAt, s.Operator.FinishedAt}
}

// A header is the header line of a capture.
type header struct {
	Framing      capture.Framing `json:"framing"`
	Bytes        int             `json:"bytes"`
	Request      *int            `json:"request,omitzero"`
	Arrivals     *int            `json:"arrivals,omitzero"`
	ArrivalsFrom string          `json:"arrivals_from,omitzero"`
	Settings     []setting       `json:"settings"`
}

// manifestTime is the format of times in capture.json.
const manifestTime = "2006-01-02T15:04:05.000000Z"

func (c *captured) header() header {
	h := header{Framing: c.framing, Bytes: len(c.response)}
	if c.request != nil {
		h.Request = new(len(c.request))
	}
	if c.arrivals != nil {
		h.Arrivals, h.ArrivalsFrom = new(len(c.arrivals)), c.started.UTC().Format(manifestTime)
	}
	for _, s := range c.settings {
		h.Settings = append(h.Settings, settingOf(s))
	}
	return h
}

// A projections is the response for a capture.
type projections struct {
	Runs    int        `json:"runs"`
	Results [][]result `json:"results"` // for each run, for each of the settings
}

// A result is the result of a run under one of the settings.
type result struct {
	Outcome   project.Verdict    `json:"outcome"`
	Artifact  string             `json:"artifact,omitzero"`
	Envelope  string             `json:"envelope,omitzero"`
	Omissions []project.Omission `json:"omissions,omitempty"`
	Times     project.TimeSource `json:"times,omitzero"`
	Errors    []finding.Code     `json:"errors,omitempty"`

	partial bool // the run has more findings than Errors has codes of
}

// projectRuns returns the Go program's response for the capture in a directory.
func projectRuns(ctx context.Context, dir string, settings []project.Settings) (projections, error) {
	var answer projections
	c, err := capture.Open(ctx, dir, "")
	if err != nil {
		return answer, err
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		return answer, err
	}
	var runs [][]*scan.Projection
	read, err := scan.Run(ctx, c, nil, &scan.Projector{
		Request:  request,
		Settings: func(*envelope.Run) []project.Settings { return settings },
		Handle: func(_ *envelope.Run, made iter.Seq[*scan.Projection]) error {
			runs = append(runs, slices.Collect(made))
			return nil
		},
	})
	if err != nil {
		return answer, err
	}
	answer.Runs = read.Runs
	for _, run := range runs {
		var results []result
		for _, p := range run {
			results = append(results, resultOf(read, p))
		}
		answer.Results = append(answer.Results, results)
	}
	return answer, nil
}

// resultOf returns the result of a projected run, with the findings known at the end of
// the capture.
func resultOf(read scan.Result, p *scan.Projection) result {
	findings, counts := read.MergeFindings(p.Findings)
	if out := p.Output; out != nil && counts {
		return result{Outcome: project.Frozen, Artifact: string(out.Bytes), Envelope: string(out.Envelope), Omissions: out.Omissions, Times: out.Times.Source}
	}
	r := result{Outcome: project.Refused, partial: finding.Has(findings, finding.FindingsUnlisted)}
	for _, f := range findings {
		if f.Severity == finding.Error {
			r.Errors = append(r.Errors, f.Code)
		}
	}
	slices.Sort(r.Errors)
	r.Errors = slices.Compact(r.Errors)
	return r
}

// diff describes the first difference of two responses, or returns an empty string.
func (a projections) diff(b projections, settings []project.Settings) string {
	if a.Runs != b.Runs || len(a.Results) != len(b.Results) {
		return fmt.Sprintf("Go     %d runs\n  Python %d runs, results of %d", a.Runs, b.Runs, len(b.Results))
	}
	for run, results := range a.Results {
		if len(b.Results[run]) != len(results) {
			return fmt.Sprintf("run %d: %d results from Python under %d settings", run+1, len(b.Results[run]), len(results))
		}
		for i, ours := range results {
			if what, left, right := ours.diff(b.Results[run][i]); what != "" {
				return fmt.Sprintf("run %d, %s: %s\n  Go     %s\n  Python %s", run+1, settingOf(settings[i]), what, left, right)
			}
		}
	}
	return ""
}

// diff names the first part that differs from b, and returns both values.
func (a result) diff(b result) (what, left, right string) {
	switch {
	case a.Outcome != b.Outcome:
		return "outcome", a.outcome(), b.outcome()
	case a.Artifact != b.Artifact:
		left, right = excerpt(a.Artifact, b.Artifact)
		return "artifact", left, right
	case a.Envelope != b.Envelope:
		left, right = excerpt(a.Envelope, b.Envelope)
		return "envelope", left, right
	case a.Times != b.Times:
		return "times", string(a.Times), string(b.Times)
	case !slices.EqualFunc(a.Omissions, b.Omissions, sameOmission):
		i := 0
		for i < min(len(a.Omissions), len(b.Omissions)) && sameOmission(a.Omissions[i], b.Omissions[i]) {
			i++
		}
		return fmt.Sprintf("omission %d", i), formatOmission(a.Omissions, i), formatOmission(b.Omissions, i)
	case a.partial && !slices.ContainsFunc(a.Errors, func(c finding.Code) bool { return !slices.Contains(b.Errors, c) }):
	case !slices.Equal(a.Errors, b.Errors):
		return "errors", fmt.Sprint(a.Errors), fmt.Sprint(b.Errors)
	}
	return "", "", ""
}

func (a result) outcome() string {
	if a.Outcome == project.Refused {
		return fmt.Sprintf("%s %v", a.Outcome, a.Errors)
	}
	return fmt.Sprintf("%s %.300q", a.Outcome, a.Artifact)
}

func sameOmission(a, b project.Omission) bool {
	return a.File == b.File && a.Pointer == b.Pointer && a.Reason == b.Reason && a.Count == b.Count &&
		(a.EventIndex == nil) == (b.EventIndex == nil) && (a.EventIndex == nil || *a.EventIndex == *b.EventIndex)
}

func formatOmission(list []project.Omission, i int) string {
	if i == len(list) {
		return fmt.Sprintf("none of that number, of %d", len(list))
	}
	text, err := json.Marshal(list[i], jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.300s of %d", text, len(list))
}

// excerpt returns the text around the first different byte of two texts.
func excerpt(a, b string) (string, string) {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	around := func(s string) string {
		return fmt.Sprintf("byte %d of %d: %q", i, len(s), s[max(0, i-60):min(len(s), i+100)])
	}
	return around(a), around(b)
}

// write writes the capture to a directory and replaces the one there.
func (c *captured) write(dir string) error {
	m := &capture.Manifest{
		Schema: capture.ManifestSchema, Source: capture.Source{Kind: capture.KindFile}, Framing: c.framing,
		StartedAt: c.started, EndedAt: c.started.Add(24 * time.Hour), End: capture.EndEOF,
		Tool: capture.Tool{Name: "differential", Version: "1"},
	}
	put := func(name string, data []byte) (*capture.File, error) {
		// Overwriting a file can be slow, because the file system may wait for the disk.
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return &capture.File{Bytes: int64(len(data)), Digest: digest.Of(data)}, os.WriteFile(filepath.Join(dir, name), data, 0o644)
	}
	response, err := put(c.framing.FileName(), c.response)
	if err != nil {
		return err
	}
	switch c.framing {
	case capture.NDJSON:
		m.Files.NDJSON = response
	case capture.JSON:
		m.Files.JSON = response
	default:
		m.Files.SSE = response
	}
	if c.request != nil {
		if m.Files.Request, err = put(capture.RequestName, c.request); err != nil {
			return err
		}
	}
	if c.arrivals != nil {
		if m.Files.Arrivals, err = put(capture.ArrivalsName, c.arrivals); err != nil {
			return err
		}
		var bytes, micros int64
		if _, err := fmt.Sscanf(string(c.arrivals), "%d\t%d\n", &bytes, &micros); err != nil {
			return err
		}
		m.FirstByteAt = c.started.Add(time.Duration(micros) * time.Microsecond)
	}
	text, err := m.Encode()
	if err != nil {
		return err
	}
	_, err = put(capture.ManifestName, text)
	return err
}

// maxShown is the number of disagreements that each worker prints; the rest are counted.
const maxShown = 25

// compareRuns compares the results of a server and the program for the capture in a
// directory, and counts them. If they differ it prints the difference and keeps the capture
// under a name.
func (m *mix) compareRuns(ctx context.Context, s *server, dir, name string, c *captured) (projections, error) {
	ours, err := projectRuns(ctx, dir, c.settings)
	if err != nil {
		return ours, err
	}
	var theirs projections
	if err := s.ask(c.header(), &theirs, c.response, c.request, c.arrivals); err != nil {
		to, _ := m.save(name, c, ours, theirs)
		return ours, fmt.Errorf("no response for %s: %w", to, err)
	}
	m.count(c, ours)
	where := ours.diff(theirs, c.settings)
	if where == "" {
		return ours, nil
	}
	if m.disagreed++; m.disagreed > maxShown {
		return ours, nil
	}
	to, err := m.save(name, c, ours, theirs)
	fmt.Fprintf(m.out, "%s, see %s: %s\n", name, to, where)
	return ours, err
}

// save writes a capture with both responses to a directory, and returns its path.
func (o *options) save(name string, c *captured, ours, theirs projections) (string, error) {
	to := filepath.Join(o.keep, name)
	if err := os.RemoveAll(to); err != nil {
		return to, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return to, err
	}
	if err := c.write(to); err != nil {
		return to, err
	}
	for file, value := range map[string]any{"settings.json": c.header().Settings, "go.json": ours, "python.json": theirs} {
		text, err := json.Marshal(value, jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
		if err != nil {
			return to, err
		}
		if err := os.WriteFile(filepath.Join(to, file), append(text, '\n'), 0o644); err != nil {
			return to, err
		}
	}
	return to, nil
}

// show returns the results with their settings as text.
func (a projections) show(settings []project.Settings) string {
	text := fmt.Sprintf("%d runs\n", a.Runs)
	for run, results := range a.Results {
		for i, r := range results {
			text += fmt.Sprintf("run %d, %s: %s %d omissions, times %s\n", run+1, settingOf(settings[i]), r.outcome(), len(r.Omissions), r.Times)
		}
	}
	return text
}
