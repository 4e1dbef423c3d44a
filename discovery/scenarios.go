// Package discovery looks across captures of real integrations: it knows the
// scenarios their harnesses run, what each projection is expected to make of
// them, and what two captures of one scenario have in common.
//
// It must hold no rule of an integration: what differs between them stands in
// their scenario files.
package discovery

import (
	"bytes"
	"fmt"
	"os"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// Suite is the scenario file of one harness.
type Suite struct {
	Harness     string      `json:"harness"`
	Integration Integration `json:"integration"`
	// Scenarios are run in order against one fresh server.
	Scenarios []Scenario `json:"scenarios"`
}

// Integration is the package whose endpoint the harness runs.
type Integration struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Scenario is one request and what is expected of the answer.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Path is where the request is posted to, below the harness's address.
	Path    string         `json:"path"`
	Request jsontext.Value `json:"request"`
	Expect  Expectation    `json:"expect"`
}

// Expectation is what a capture of a scenario shows.
type Expectation struct {
	HTTPStatus int `json:"http_status"`
	// Terminal is the run's terminal event; empty when there is no run.
	Terminal   string             `json:"terminal,omitzero"`
	TimeSource project.TimeSource `json:"time_source,omitzero"`
	// Parent is the artifact's parent_run_id_ref.
	Parent string `json:"parent,omitzero"`
	// Freeze has the outcome of each projection.
	Freeze Outcomes `json:"freeze"`
}

// Outcomes are those of the three projections.
type Outcomes struct {
	EmittedSnapshot     Outcome `json:"emitted-snapshot"`
	EmittedSnapshotText Outcome `json:"emitted-snapshot-text"`
	FoldedStream        Outcome `json:"folded-stream"`
}

// Of returns the place of a projection's outcome.
func (o *Outcomes) Of(name project.Name) *Outcome {
	switch name {
	case project.EmittedSnapshotText:
		return &o.EmittedSnapshotText
	case project.FoldedStream:
		return &o.FoldedStream
	}
	return &o.EmittedSnapshot
}

// Outcome is what one projection makes of a run.
type Outcome struct {
	Verdict freeze.Verdict `json:"verdict"`
	// Origin says whether the snapshot was emitted or built.
	Origin project.Origin `json:"origin,omitzero"`
	// Roles are those of the artifact's messages, in order.
	Roles []string `json:"roles,omitzero"`
	// Omissions are "reason place", the place an event's type, or the request,
	// and the pointer.
	Omissions []string `json:"omissions,omitzero"`
	// Reasons are "code place" of every error.
	Reasons []string `json:"reasons,omitzero"`
}

var plainName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// LoadSuite reads a scenario file strictly.
func LoadSuite(path string) (*Suite, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s Suite
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(s.Scenarios) == 0 {
		return nil, fmt.Errorf("%s: no scenarios", path)
	}
	seen := make(map[string]bool)
	for _, one := range s.Scenarios {
		if !plainName.MatchString(one.Name) || seen[one.Name] {
			return nil, fmt.Errorf("%s: scenario name %q is not plain or stands twice", path, one.Name)
		}
		seen[one.Name] = true
	}
	return &s, nil
}

// Encode spells the suite as its file: two-space indent, ASCII only.
func (s *Suite) Encode() ([]byte, error) {
	var buf bytes.Buffer
	if err := json.MarshalWrite(&buf, s, jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(strictjson.ASCII(buf.Bytes()), '\n'), nil
}
