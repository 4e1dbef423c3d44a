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
	raw                                  bool
	deltas, pulses, patches, order, text string
}

const (
	joined = "joined"
	exact  = "exact"
	shape  = "shape"
)

func addTraceFlags(cmd *cobra.Command) *traceFlags {
	fl := new(traceFlags)
	flags := cmd.Flags()
	flags.BoolVar(&fl.raw, "raw", false, "captures: RAW events count")
	for _, c := range []struct {
		value                *string
		name, usual, meaning string
		other                string
	}{
		{&fl.deltas, "deltas", joined, "count the deltas of a text as one or each", exact},
		{&fl.pulses, "pulses", joined, "count repeated equal STATE_SNAPSHOTs as one or each", exact},
		{&fl.patches, "patches", "effect", "count patches by their effect or as they are written", exact},
		{&fl.order, "order", "causal", "count the order that a client can notice, or that of all events", exact},
		{&fl.text, "text", exact, "count streamed text, or only whether there is any", shape},
	} {
		flags.StringVar(c.value, c.name, c.usual, fmt.Sprintf("captures: %s: `%s|%s`", c.meaning, c.usual, c.other))
		cli.Complete(cmd, c.name, c.usual, c.other)
	}
	return fl
}

// changed returns the name of a flag that was given, or "".
func (fl *traceFlags) changed(cmd *cobra.Command) string {
	for _, name := range []string{"raw", "deltas", "pulses", "patches", "order", "text"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// settings returns what the flags say.
func (fl *traceFlags) settings() (s tracediff.Settings, err error) {
	s.Raw = fl.raw
	for _, c := range []struct {
		to                        *bool
		name, value, usual, other string
	}{
		{&s.Deltas, "deltas", fl.deltas, joined, exact},
		{&s.Pulses, "pulses", fl.pulses, joined, exact},
		{&s.Patches, "patches", fl.patches, "effect", exact},
		{&s.Exact, "order", fl.order, "causal", exact},
		{&s.Shape, "text", fl.text, exact, shape},
	} {
		switch c.value {
		case c.usual:
		case c.other:
			*c.to = true
		default:
			return s, fmt.Errorf("--%s %s: it is %s or %s", c.name, finding.Quote(c.value), c.usual, c.other)
		}
	}
	return s, nil
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

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// diffCaptures compares two captures.
func diffCaptures(cmd *cobra.Command, args []string, fl *traceFlags, f *render.Format) error {
	s, err := fl.settings()
	if err != nil {
		return err
	}
	for _, path := range args {
		if err := checkSingle(cmd, path); err != nil {
			return err
		}
	}
	p := newPrinter(cmd, f)
	var row tracediff.Row
	row, err = tracediff.Compare(cmd.Context(), args[0], args[1], s, func(d tracediff.Difference) error {
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
