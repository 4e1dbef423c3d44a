// Package scenario runs lists of scenarios against endpoints, and against the
// servers of harnesses: a capture of each, and what it shows against what is
// expected.
//
// It must hold no rule of an integration: what differs between them is in their
// files.
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

// Names of the files: the scenarios, which all harnesses share, and what each
// harness is expected to make of them.
const (
	ScenariosName = "scenarios.json"
	ExpectedName  = "expected.json"
)

// List is the file of the scenarios. They are run in order against one fresh
// server.
type List struct {
	Scenarios []Scenario `json:"scenarios"`
}

// Suite is what one harness makes of the scenarios.
type Suite struct {
	// Cases has each scenario of the list once, in its order.
	Cases []Case `json:"scenarios"`
}

// Case says what a harness is expected to make of a scenario, or why it
// cannot express it.
type Case struct {
	Name   string       `json:"name"`
	Note   string       `json:"note,omitzero"`
	Expect *Expectation `json:"expect,omitzero"`
}

// Scenario is one request.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about,omitzero"`
	// Path is where the request is posted to, below the endpoint's address;
	// without one it is that address.
	Path string `json:"path,omitzero"`
	// Needed: an integration qualifies only if its run of this scenario does. Where
	// a list marks none, all are needed.
	Needed bool `json:"needed,omitzero"`
	// AnyAgent: the request alone makes the scenario, so that any agent can be asked
	// it, wherever it is served. An endpoint that is given by its URL gets new ids of
	// thread and run on each try.
	AnyAgent bool           `json:"anywhere,omitzero"`
	Request  jsontext.Value `json:"request"`
}

// Expectation is what a capture of a scenario shows.
type Expectation struct {
	HTTPStatus int `json:"http_status"`
	// End is how the response ended; empty when it came to its own end.
	End capture.End `json:"end,omitzero"`
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

// Outcome returns the place of a projection's outcome.
func (o *Outcomes) Outcome(name project.Name) *Outcome {
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
	Verdict project.Verdict `json:"verdict"`
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

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([-.][a-z0-9]+)*$`) })

// LoadList reads the file of the scenarios strictly.
func LoadList(ctx context.Context, path string) (*List, error) {
	data, err := readBounded(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parseList(path, data)
}

// BuiltinList is the list that the program holds, which all harnesses share.
func BuiltinList() (*List, error) { return parseList(ScenariosName, discovery.Scenarios) }

// parseList reads a list strictly. Path names it in errors.
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

// ForAnyAgent returns the scenarios that any agent can be asked, for the endpoint's
// own address.
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
// qualifies: those that are marked, or all where none is.
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

// Select returns the scenarios of these names, in the order of the list, or a name
// that no scenario has.
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

// plainPath reports whether a path stays what it is when it is put below
// another.
func plainPath(p string) bool {
	clean := path.Clean(p)
	_, err := url.PathUnescape(p)
	return err == nil && p[0] == '/' && !strings.ContainsAny(p, "?#") && (p == clean || p == clean+"/")
}

// ErrSuiteMismatch is matched by the error of a file of expectations that is not of
// the scenarios of the list.
var ErrSuiteMismatch = errors.New("the expectations do not match the list of scenarios")

// mismatchError is such an error.
type mismatchError struct{ why string }

func (e mismatchError) Error() string { return e.why }

// Is implements errors.Is.
func (mismatchError) Is(target error) bool { return target == ErrSuiteMismatch }

// LoadSuite reads the file of a harness strictly and holds it against the list.
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

// maxFile bounds a file of a list, a suite or a harness, in bytes: what it names
// may be no file, or have no end. A capture's request may be as long.
const maxFile = 64 << 20

// loadFile reads a file into v strictly. What names the kind of file with its
// article.
func loadFile(ctx context.Context, path, what string, v any) error {
	data, err := readBounded(ctx, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return decode(path, data, what, v)
}

// decode reads what a file holds into v strictly. What names the kind of file with
// its article.
func decode(path string, data []byte, what string, v any) error {
	if err := strictjson.Explain(json.Unmarshal(data, v, json.RejectUnknownMembers(true)), what); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readBounded reads a file. Its opening and reading end with ctx.
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

// Encode spells the list as its file: two-space indent, ASCII only.
func (l *List) Encode() ([]byte, error) { return strictjson.MarshalFile(l) }

// Encode spells the suite as its file: two-space indent, ASCII only.
func (s *Suite) Encode() ([]byte, error) { return strictjson.MarshalFile(s) }
