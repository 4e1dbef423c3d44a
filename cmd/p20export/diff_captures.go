package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/tracediff"
)

// traceFlags are the flags that say what counts in a trace.
type traceFlags struct {
	settings tracediff.Settings
	choices  []*traceChoice
}

// traceChoice is a flag with two values.
type traceChoice struct {
	to                          *bool // set if the value is other
	name, usual, other, meaning string
	value                       string
}

func addTraceFlags(cmd *cobra.Command) *traceFlags {
	fl := new(traceFlags)
	s := &fl.settings
	const joined, exact = "joined", "exact"
	fl.choices = []*traceChoice{
		{to: &s.Deltas, name: "deltas", usual: joined, other: exact, meaning: "count the deltas of a text as one or each"},
		{to: &s.Pulses, name: "pulses", usual: joined, other: exact, meaning: "count repeated equal STATE_SNAPSHOTs as one or each"},
		{to: &s.Patches, name: "patches", usual: "effect", other: exact, meaning: "count patches by their effect or as they are written"},
		{to: &s.Exact, name: "order", usual: "causal", other: exact, meaning: "count the order that a client can notice, or that of all events"},
		{to: &s.Shape, name: "text", usual: exact, other: "shape", meaning: "count streamed text, or only whether there is any"},
	}
	cmd.Flags().BoolVar(&s.Raw, "raw", false, "captures: RAW events count")
	for _, c := range fl.choices {
		cmd.Flags().StringVar(&c.value, c.name, c.usual, fmt.Sprintf("captures: %s: `%s|%s`", c.meaning, c.usual, c.other))
		cli.Complete(cmd, c.name, c.usual, c.other)
	}
	return fl
}

// changed returns the name of a flag that was given, or "".
func (fl *traceFlags) changed(cmd *cobra.Command) string {
	if cmd.Flags().Changed("raw") {
		return "raw"
	}
	for _, c := range fl.choices {
		if cmd.Flags().Changed(c.name) {
			return c.name
		}
	}
	return ""
}

// parse returns what the flags say.
func (fl *traceFlags) parse() (tracediff.Settings, error) {
	for _, c := range fl.choices {
		if c.value != c.usual && c.value != c.other {
			return fl.settings, fmt.Errorf("--%s %s: it is %s or %s", c.name, finding.Quote(c.value), c.usual, c.other)
		}
		*c.to = c.value == c.other
	}
	return fl.settings, nil
}

// isTraced reports whether diff takes path as a capture: a directory, or a file with the name of
// a stream of events.
func isTraced(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return true
	}
	return slices.Contains([]string{".sse", ".ndjson", ".jsonl"}, filepath.Ext(path))
}

// diffCaptures compares two captures.
func diffCaptures(cmd *cobra.Command, args []string, fl *traceFlags, f *render.Format) error {
	s, err := fl.parse()
	if err != nil {
		return err
	}
	for _, path := range args {
		if err := checkSingle(cmd, path); err != nil {
			return err
		}
	}
	p := newPrinter(cmd, f)
	row, err := tracediff.Compare(cmd.Context(), args[0], args[1], s, func(d tracediff.Difference) error {
		if p.TraceDifference(d); !p.Flush() {
			return render.ErrOutput
		}
		return nil
	})
	if cause := interrupted(cmd); cause != nil {
		return p.Close(cause)
	}
	if err != nil {
		return p.Close(nil)
	}
	p.Traces(row)
	return p.Close(render.StatusOf(row.Verdict).Err())
}
