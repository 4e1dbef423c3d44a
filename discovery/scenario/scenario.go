// Package scenario runs lists of scenarios against endpoints and harness servers. It makes
// a capture of each scenario and compares the capture with its expectation.
//
// It must not contain rules of an integration. Differences between integrations belong in
// their files.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// File names: the list of scenarios, which all harnesses share, and the expectations of
// one harness.
const (
	ScenariosName = "scenarios.json"
	ExpectedName  = "expected.json"
)

// List is the contents of scenarios.json. Scenarios are run in order against a newly
// started server.
type List struct {
	Scenarios []Scenario `json:"scenarios"`
}

// Suite is the contents of expected.json: the expectations of one harness.
type Suite struct {
	// Cases has one case for each scenario of the list, in the same order.
	Cases []Case `json:"scenarios"`
}

// Case is the expectation for a scenario, or a note that says why the integration cannot express
// the scenario.
type Case struct {
	Name   string       `json:"name"`
	Note   string       `json:"note,omitzero"`
	Expect *Expectation `json:"expect,omitzero"`
}

// Scenario is one request.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about,omitzero"`
	// Path is appended to the URL of the endpoint. If it is empty, the request is
	// posted to the URL itself.
	Path string `json:"path,omitzero"`
	// Needed marks a scenario that decides whether an integration qualifies. If a
	// list marks no scenario, all are needed.
	Needed bool `json:"needed,omitzero"`
	// AnyAgent marks a scenario that depends only on the request, so that it can be
	// run with any agent. See WithNewIDs for its thread and run ids.
	AnyAgent bool           `json:"anywhere,omitzero"`
	Request  jsontext.Value `json:"request"`
}

// Expectation describes the capture of a scenario.
type Expectation struct {
	HTTPStatus int `json:"http_status"`
	// End says how the response ended. It is empty if the response is complete.
	End capture.End `json:"end,omitzero"`
	// Terminal is the terminal event of the run; empty if there is no run.
	Terminal   string             `json:"terminal,omitzero"`
	TimeSource project.TimeSource `json:"time_source,omitzero"`
	// Parent is the artifact's parent_run_id_ref.
	Parent string `json:"parent,omitzero"`
	// Freeze has the outcomes of the projections.
	Freeze Outcomes `json:"freeze"`
}

// Outcomes has the outcomes of the three projections.
type Outcomes struct {
	EmittedSnapshot     Outcome `json:"emitted-snapshot"`
	EmittedSnapshotText Outcome `json:"emitted-snapshot-text"`
	FoldedStream        Outcome `json:"folded-stream"`
}

// Outcome returns a pointer to the outcome of a projection.
func (o *Outcomes) Outcome(name project.Name) *Outcome {
	switch name {
	case project.EmittedSnapshotText:
		return &o.EmittedSnapshotText
	case project.FoldedStream:
		return &o.FoldedStream
	}
	return &o.EmittedSnapshot
}

// Outcome is the result of one projection of a run.
type Outcome struct {
	Verdict project.Verdict `json:"verdict"`
	// Origin says whether the snapshot was emitted or built.
	Origin project.Origin `json:"origin,omitzero"`
	// Roles lists the roles of the artifact's messages, in order.
	Roles []string `json:"roles,omitzero"`
	// Omissions has elements of the form "reason place". The place is the type of an
	// event or the name of a file, followed by a pointer.
	Omissions []string `json:"omissions,omitzero"`
	// Reasons has an element of the form "code place" for each error.
	Reasons []string `json:"reasons,omitzero"`
}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([-.][a-z0-9]+)*$`) })

// LoadList reads a list of scenarios from a file. It rejects unknown keys and invalid
// scenarios.
func LoadList(ctx context.Context, path string) (*List, error) {
	data, err := readBounded(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parseList(path, data)
}

// BuiltinList returns the list of scenarios in the program, which all harnesses share.
func BuiltinList() (*List, error) { return parseList(ScenariosName, discovery.Scenarios) }

// parseList parses and checks a list. Errors name path.
func parseList(path string, data []byte) (*List, error) {
	var l List
	if err := decode(path, data, "a file of scenarios", &l); err != nil {
		return nil, err
	}
	if len(l.Scenarios) == 0 {
		return nil, fmt.Errorf("%s: no scenarios", path)
	}
	seen := make(map[string]bool)
	for _, s := range l.Scenarios {
		if !plainName().MatchString(s.Name) {
			return nil, fmt.Errorf("%s: invalid scenario name %q: use lower-case letters and digits, separated by single dashes or dots", path, s.Name)
		}
		if seen[s.Name] {
			return nil, fmt.Errorf("%s: two scenarios are named %q", path, s.Name)
		}
		if s.Name == capture.ManifestName {
			return nil, fmt.Errorf("%s: scenario name %q is reserved for the manifest of a capture", path, s.Name)
		}
		seen[s.Name] = true
		if s.Path != "" && !plainPath(s.Path) {
			return nil, fmt.Errorf("%s: scenario %q: invalid path %q; use a clean absolute path such as /agent", path, s.Name, s.Path)
		}
		if s.Request.Kind() != '{' {
			return nil, fmt.Errorf("%s: scenario %q: the request must be an object, an AG-UI run input", path, s.Name)
		}
	}
	return &l, nil
}

// ForAnyAgent returns the scenarios marked AnyAgent, without their paths.
func (l *List) ForAnyAgent() []Scenario {
	var list []Scenario
	for _, s := range l.Scenarios {
		if s.AnyAgent {
			s.Path = ""
			list = append(list, s)
		}
	}
	return list
}

// Names returns the names of the scenarios.
func (l *List) Names() []string {
	var names []string
	for _, s := range l.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

// Needed returns the names of the scenarios that decide whether an integration
// qualifies: the marked ones, or all if none is marked.
func (l *List) Needed() []string {
	var marked []string
	for _, s := range l.Scenarios {
		if s.Needed {
			marked = append(marked, s.Name)
		}
	}
	if marked == nil {
		return l.Names()
	}
	return marked
}

// Select returns the scenarios with these names, in the order of the list. If a name is
// unknown, Select returns that name and no scenarios.
func (l *List) Select(names []string) (chosen []Scenario, unknown string) {
	for _, s := range l.Scenarios {
		if slices.Contains(names, s.Name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(chosen, func(s Scenario) bool { return s.Name == name }) {
			return nil, name
		}
	}
	return chosen, ""
}

// plainPath reports whether a path is absolute, clean, and has no query or fragment, so
// that it can be appended to a URL.
func plainPath(p string) bool {
	clean := path.Clean(p)
	_, err := url.PathUnescape(p)
	return err == nil && p[0] == '/' && !strings.ContainsAny(p, "?#") && (p == clean || p == clean+"/")
}

// ErrSuiteMismatch matches the error of LoadSuite if the file does not have the scenarios
// of the list.
var ErrSuiteMismatch = errors.New("the expectations do not match the list of scenarios")

// mismatchError is an error that matches ErrSuiteMismatch.
type mismatchError struct{ why string }

func (e mismatchError) Error() string { return e.why }

// Is reports whether target is ErrSuiteMismatch.
func (mismatchError) Is(target error) bool { return target == ErrSuiteMismatch }

// LoadSuite reads the expectations of a harness from a file and checks that they match the
// list.
func LoadSuite(ctx context.Context, path string, l *List) (*Suite, error) {
	var s Suite
	if err := loadFile(ctx, path, "a file of expectations", &s); err != nil {
		return nil, err
	}
	for i, scenario := range l.Scenarios {
		if i == len(s.Cases) || s.Cases[i].Name != scenario.Name {
			return nil, mismatchError{fmt.Sprintf("%s: scenario %q is missing or out of order", path, scenario.Name)}
		}
		if one := s.Cases[i]; (one.Note == "") == (one.Expect == nil) {
			return nil, fmt.Errorf("%s: scenario %q must have either an expectation or a note", path, scenario.Name)
		}
	}
	if len(s.Cases) > len(l.Scenarios) {
		return nil, mismatchError{path + ": it has scenarios that are not in the list"}
	}
	return &s, nil
}

// maxFile limits the size of the files that this package reads, in bytes. A path may name
// a device or a pipe without an end. Requests of captures have the same limit.
const maxFile = 64 << 20

// loadFile reads the JSON of a file into v and rejects unknown keys. The kind of file,
// such as "a harness.json", is used in errors.
func loadFile(ctx context.Context, path, kind string, v any) error {
	data, err := readBounded(ctx, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return decode(path, data, kind, v)
}

// decode decodes JSON into v and rejects unknown keys. Errors contain path and kind.
func decode(path string, data []byte, kind string, v any) error {
	if err := strictjson.Explain(json.Unmarshal(data, v, json.RejectUnknownMembers(true)), kind); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readBounded reads a file of at most maxFile bytes. It returns early if ctx is done.
func readBounded(ctx context.Context, path string) ([]byte, error) {
	f, err := capture.OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d bytes", maxFile)
	}
	return data, err
}

// Encode returns the JSON of the list, with two-space indent and only ASCII.
func (l *List) Encode() ([]byte, error) { return strictjson.MarshalFile(l) }

// Encode returns the JSON of the suite, with two-space indent and only ASCII.
func (s *Suite) Encode() ([]byte, error) { return strictjson.MarshalFile(s) }
