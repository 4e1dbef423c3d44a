// Package baseline compares analyzed runs with a baseline: a file that describes earlier
// runs without their ids, times, texts and sizes.
//
// It decides which changes affect the contract. It must not read captures.
package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// Schema is the value of a baseline's schema key.
const Schema = "p20export.baseline.v1"

// maxBytes limits the size of a baseline file. It allows thousands of runs.
const maxBytes = 64 << 20

// Baseline describes runs, for comparison with later runs.
type Baseline struct {
	Schema   string           `json:"schema"`
	Contract artifact.Profile `json:"contract"`
	Runs     []Run            `json:"runs"`

	// Path is the file that Load read the baseline from.
	Path string `json:"-"`
}

// Run describes a run by what should be the same in another run of the same scenario:
// everything about the contract except ids, times, texts and sizes.
type Run struct {
	// Capture is the name of the capture, and Run is the number of the run in it, or
	// 0 for a capture without a run. Together they identify a run.
	Capture     string                `json:"capture"`
	Run         int                   `json:"run"`
	Integration analysis.Integration  `json:"integration,omitzero"`
	HTTPStatus  int                   `json:"http_status,omitzero"`
	End         capture.End           `json:"end,omitzero"`
	Verdict     analysis.Verdict      `json:"verdict"`
	Terminal    string                `json:"terminal,omitzero"`
	TimeSource  project.TimeSource    `json:"time_source,omitzero"`
	Projections []analysis.Projection `json:"projections"`
	Snapshots   []Position            `json:"snapshots"`
	// MoreSnapshots counts the snapshots that are not in Snapshots.
	MoreSnapshots int `json:"more_snapshots,omitzero"`
	// StreamedIDs and RequestedIDs say how many message ids of the stream and of the
	// request are in the last snapshot.
	StreamedIDs  Retention        `json:"streamed_ids,omitzero"`
	RequestedIDs Retention        `json:"requested_ids,omitzero"`
	Fields       []analysis.Field `json:"fields"`
	// Families lists the types of the run's events, in the order of their first
	// occurrence.
	Families []string `json:"families"`
}

// Position has the types of the events before and after a snapshot.
type Position struct {
	Before string `json:"before"`
	After  string `json:"after,omitzero"`
}

// Retention says how many of some ids are in a snapshot.
type Retention string

// The retentions. The empty string means that there are no ids or no snapshot.
const (
	KeptAll  Retention = "all"
	KeptSome Retention = "some"
	KeptNone Retention = "none"
)

func retention(kept, of int) Retention {
	switch {
	case of == 0:
		return ""
	case kept == 0:
		return KeptNone
	case kept < of:
		return KeptSome
	}
	return KeptAll
}

// Integrations returns the integrations of the runs, without duplicates.
func (b *Baseline) Integrations() []analysis.Integration {
	var list []analysis.Integration
	for _, run := range b.Runs {
		if run.Integration != (analysis.Integration{}) && !slices.Contains(list, run.Integration) {
			list = append(list, run.Integration)
		}
	}
	return list
}

// New returns a baseline of runs. It fails if two captures have the same name.
func New(runs []analysis.Run, contract artifact.Profile) (*Baseline, error) {
	if _, err := artifact.ParseProfile(string(contract)); err != nil {
		return nil, err
	}
	b := &Baseline{Schema: Schema, Contract: contract, Runs: []Run{}}
	paths := make([]string, 0, len(runs))
	for _, run := range runs {
		paths = append(paths, run.Capture)
		b.Runs = append(b.Runs, runOf(run))
	}
	sort.Slice(b.Runs, func(i, j int) bool { return b.Runs[i].compare(b.Runs[j]) < 0 })
	return b, CheckDistinct(slices.Compact(paths))
}

func (s Run) compare(t Run) int {
	return cmp.Or(cmp.Compare(s.Capture, t.Capture), cmp.Compare(s.Run, t.Run))
}

// CheckDistinct returns an error if two captures have the same base name, which identifies
// them in a baseline, or if a name is not valid UTF-8.
func CheckDistinct(paths []string) error {
	of := make(map[string]string)
	for _, path := range paths {
		name := capture.BaseName(path)
		if !utf8.ValidString(name) {
			return fmt.Errorf("the capture name %s is not valid UTF-8 and cannot be used in a baseline", finding.Quote(name))
		}
		if other, ok := of[name]; ok && filepath.Clean(other) == filepath.Clean(path) {
			return fmt.Errorf("%s is given twice", finding.Escape(other))
		} else if ok {
			return fmt.Errorf("%s and %s have the same base name, which identifies a capture in a baseline; compare them separately", other, path)
		}
		of[name] = path
	}
	return nil
}

func runOf(e analysis.Run) Run {
	s := Run{
		Capture: capture.BaseName(e.Capture), Integration: e.Integration, HTTPStatus: e.HTTPStatus, End: e.End,
		Verdict: e.Verdict, Terminal: e.Terminal, TimeSource: e.Times.Source,
		Projections: slices.Clone(e.Projections), Snapshots: []Position{}, MoreSnapshots: e.MoreSnapshots, Fields: slices.Clone(e.Fields), Families: []string{},
		StreamedIDs:  retention(e.IDs.StreamedKept, e.IDs.Streamed),
		RequestedIDs: retention(e.IDs.RequestedKept, e.IDs.Requested),
	}
	if e.Run != nil {
		s.Run = *e.Run
	}
	for _, snapshot := range e.Snapshots {
		s.Snapshots = append(s.Snapshots, Position{snapshot.Before, snapshot.After})
	}
	for name := range e.Families.All {
		s.Families = append(s.Families, name)
	}
	return s
}

// Load reads a baseline strictly. It fails with a ContractError if the baseline was made
// for another contract. It also fails if path is not a regular file, because opening a
// pipe would wait for a writer.
func Load(path string, contract artifact.Profile) (*Baseline, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a usable baseline: it is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	b := &Baseline{Path: path}
	if len(data) > maxBytes {
		err = fmt.Errorf("larger than %d bytes", maxBytes)
	} else if err = strictjson.Explain(json.Unmarshal(data, b, json.RejectUnknownMembers(true)), "a baseline"); err == nil {
		err = b.check(contract)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a usable baseline: %w", path, err)
	}
	return b, nil
}

// ContractError reports that a baseline was made for another contract.
type ContractError struct {
	// Contract is the contract of the baseline.
	Contract artifact.Profile
}

// Error implements error.
func (e *ContractError) Error() string {
	return "it was made for another contract, " + string(e.Contract)
}

func (b *Baseline) check(contract artifact.Profile) error {
	switch {
	case b.Schema != Schema:
		return fmt.Errorf("its schema is %q, not %s", b.Schema, Schema)
	case b.Contract != contract:
		return &ContractError{Contract: b.Contract}
	case len(b.Runs) == 0:
		return errors.New("it has no runs")
	case slices.ContainsFunc(b.Runs, func(s Run) bool { return !s.valid() }):
		return errors.New("one of its runs has missing or invalid values")
	case !slices.IsSortedFunc(b.Runs, Run.compare) || len(slices.CompactFunc(slices.Clone(b.Runs), func(s, t Run) bool { return s.compare(t) == 0 })) != len(b.Runs):
		return errors.New("its runs are out of order or contain a duplicate")
	}
	return nil
}

// valid reports whether a run has all values that a baseline needs. A missing value
// would never be compared.
func (s Run) valid() bool {
	var names []project.Name
	for _, p := range s.Projections {
		if p.Verdict != project.Frozen && p.Verdict != project.Refused {
			return false
		}
		if p.Snapshot == "" {
			names = append(names, p.Name)
		}
	}
	return s.Capture != "" && s.Run >= 0 && slices.Contains(analysis.Verdicts(), s.Verdict) && slices.Equal(names, project.Names()) &&
		s.Snapshots != nil && s.Fields != nil && s.Families != nil &&
		(s.MoreSnapshots == 0 && len(s.Snapshots) <= analysis.MaxSnapshots || s.MoreSnapshots > 0 && len(s.Snapshots) == analysis.MaxSnapshots)
}

// Encode returns the JSON of the baseline, with two-space indent, only ASCII, and a newline
// at the end. It fails if the result is too large for Load.
func (b *Baseline) Encode() ([]byte, error) {
	data, err := strictjson.MarshalFile(b)
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the baseline would be larger than %d bytes; use fewer captures", maxBytes)
	}
	return data, nil
}
