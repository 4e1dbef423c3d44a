package golden

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project/tracediff"
)

// ConfigName is the name of the file with the settings of a directory of goldens.
const ConfigName = "trace.json"

// maxConfig is the maximum size of that file.
const maxConfig = 1 << 20

// Config is the content of the file. All keys are optional.
type Config struct {
	// Schema is the address of the schema, for editors.
	Schema string `json:"$schema,omitzero"`
	// Raw says that RAW events count.
	Raw bool `json:"raw,omitzero"`
	// Deltas is joined or exact.
	Deltas string `json:"deltas,omitzero"`
	// Pulses is joined or exact.
	Pulses string `json:"pulses,omitzero"`
	// Patches is effect or exact.
	Patches string `json:"patches,omitzero"`
	// Order is causal or exact.
	Order string `json:"order,omitzero"`
	// Text is exact or shape.
	Text string `json:"text,omitzero"`
	// Matchers say what of values that are random counts.
	Matchers []Matcher `json:"matchers,omitempty"`
}

// Matcher says what of the values in a place of events counts.
type Matcher struct {
	// Event is the type of the events.
	Event string `json:"event"`
	// Pointer is the JSON Pointer (RFC 6901) of the values in the event. A token * stands for
	// every member or element.
	Pointer finding.Pointer `json:"pointer"`
	// Is says what of the values counts.
	Is trace.Match `json:"is"`
	// Reason says why, for people.
	Reason string `json:"reason,omitzero"`
}

// A Choice is a setting with two values.
type Choice struct {
	// Name is the key of the configuration, and the name of the flag.
	Name string
	// Usual is the default, and Other the other value.
	Usual, Other string
	// Meaning says what the setting is about.
	Meaning string
	// Value returns the place of the setting in a configuration.
	Value func(*Config) *string
	to    func(*tracediff.Settings) *bool
}

// Choices returns the settings with two values.
func Choices() []Choice {
	const joined, exact = "joined", "exact"
	return []Choice{
		{"deltas", joined, exact, "count the deltas of a text as one or each", func(c *Config) *string { return &c.Deltas }, func(s *tracediff.Settings) *bool { return &s.Deltas }},
		{"pulses", joined, exact, "count repeated equal STATE_SNAPSHOTs as one or each", func(c *Config) *string { return &c.Pulses }, func(s *tracediff.Settings) *bool { return &s.Pulses }},
		{"patches", "effect", exact, "count patches by their effect or as they are written", func(c *Config) *string { return &c.Patches }, func(s *tracediff.Settings) *bool { return &s.Patches }},
		{"order", "causal", exact, "count the order that a client can notice, or that of all events", func(c *Config) *string { return &c.Order }, func(s *tracediff.Settings) *bool { return &s.Exact }},
		{"text", exact, "shape", "count what a model writes, or only whether there is any", func(c *Config) *string { return &c.Text }, func(s *tracediff.Settings) *bool { return &s.Shape }},
	}
}

// Settings returns the settings of a configuration. The error names a key whose value is not
// known.
func (c *Config) Settings() (tracediff.Settings, error) {
	var s tracediff.Settings
	s.Raw = c.Raw
	for _, choice := range Choices() {
		v := *choice.Value(c)
		if v != "" && v != choice.Usual && v != choice.Other {
			return s, fmt.Errorf("%s %s: it is %s or %s", choice.Name, finding.Quote(v), choice.Usual, choice.Other)
		}
		*choice.to(&s) = v == choice.Other
	}
	for i, m := range c.Matchers {
		t := trace.Matcher{Event: m.Event, Pointer: m.Pointer, Is: m.Is}
		if err := t.Check(); err != nil {
			return s, fmt.Errorf("matchers/%d: %w", i, err)
		}
		s.Matchers = append(s.Matchers, t)
	}
	return s, nil
}

// Directory is a directory of goldens.
type Directory struct {
	Path string
	// Settings say what counts.
	Settings tracediff.Settings
}

// Open returns the directory at path, which need not exist, with the settings in its file
// trace.json.
func Open(ctx context.Context, path string) (*Directory, error) {
	d := &Directory{Path: path}
	name := filepath.Join(path, ConfigName)
	if err := checkRegular(name); err != nil {
		return nil, err
	}
	c, err := LoadConfig(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		d.Settings, err = c.Settings()
	}
	return d, err
}

// checkRegular returns an error if a path is something else than a file: opening a pipe would
// wait for a writer.
func checkRegular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", finding.Escape(path))
	}
	return nil
}

// LoadConfig reads a configuration. It rejects unknown keys and values.
func LoadConfig(ctx context.Context, path string) (*Config, error) {
	data, err := capture.ReadFile(ctx, path, maxConfig)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	err = strictjson.UnmarshalSettings(data, c, "the settings of goldens")
	if err == nil {
		_, err = c.Settings()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", finding.Escape(path), err)
	}
	return c, nil
}

// Exists reports whether the directory is there.
func (d *Directory) Exists() bool {
	info, err := os.Stat(d.Path)
	return err == nil && info.IsDir()
}

// TraceOf returns the golden at path, if it has the name of one.
func TraceOf(path string) (t tracediff.Trace, ok bool) {
	_, ok = strings.CutSuffix(filepath.Base(path), suffix)
	return tracediff.Trace{Path: path, Golden: ok}, ok
}

// suffix is the end of the name of a golden.
const suffix = ".trace.jsonl"

// file returns the path of a golden.
func (d *Directory) file(name string) string { return filepath.Join(d.Path, name+suffix) }

// names returns the names of the goldens, sorted.
func (d *Directory) names() (names []string, err error) {
	list, err := os.ReadDir(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && name != "" && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names, err
}
