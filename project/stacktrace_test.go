package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

const trace = "Traceback (most recent call last):\n  File \"/srv/agent.py\", line 7, in divide\nZeroDivisionError: division by zero"

// runError returns a RUN_ERROR.
func runError(message, code string) string {
	return `{"type":"RUN_ERROR","message":` + quoteJSON(message) + `,"code":` + quoteJSON(code) + `}`
}

// The reducing projections cut an error text at a stack trace unless a control
// character or the limit comes first.
func TestStackTraceIsCut(t *testing.T) {
	spelledOut := strings.ReplaceAll(trace, "\n", `\n`)
	limit := artifact.V1.Limits().ErrorMessage
	long := strings.Repeat("x", limit)
	for _, c := range []struct {
		name, message string
		profile       artifact.Profile
		want          string
		left          []string
	}{
		{"no trace", "it broke at noon", artifact.V1, "it broke at noon", nil},
		{"after a line end", "it broke\n" + trace, artifact.V1, "it broke", []string{"error_stack_trace #2 /message"}},
		{"after spelled-out line ends", `it broke\n\n` + spelledOut, artifact.V1, "it broke", []string{"error_stack_trace #2 /message"}},
		{"after a space", "it broke: " + spelledOut, artifact.V1, "it broke:", []string{"error_stack_trace #2 /message"}},
		{"behind line ends", "\n \r\nit broke: no access\nagain", artifact.V1, "it broke: no access", []string{"text_shortened #2 /message"}},
		{"behind a line end, before a trace", "\nit broke\n" + trace, artifact.V1, "it broke", []string{"error_stack_trace #2 /message"}},
		{"behind spaces", "  it broke", artifact.V1, "  it broke", nil},
		{"after another line", "it broke\nagain\n" + trace, artifact.V1, "it broke", []string{"text_shortened #2 /message"}},
		{"past the limit", long + "yz " + spelledOut, artifact.V1, long, []string{"text_shortened #2 /message"}},
		{"at the limit", long + " " + spelledOut, artifact.V1, long, []string{"error_stack_trace #2 /message"}},
		{"past what is looked at", strings.Repeat("x ", 5_000) + spelledOut, artifact.V1, strings.Repeat("x ", limit/2), []string{"text_shortened #2 /message"}},
		{"cut again for Assay", " " + long + spelledOut, artifact.Assay, " " + long[:artifact.Assay.Limits().ErrorMessage], []string{"text_shortened #2 /message"}},
		{"the trace, then Assay", " " + long[2:] + " " + spelledOut, artifact.Assay, " " + long[:artifact.Assay.Limits().ErrorMessage], []string{"error_stack_trace #2 /message"}},
	} {
		for _, s := range []project.Settings{{Projection: project.EmittedSnapshotText, Profile: c.profile}, {Projection: project.FoldedStream, Profile: c.profile}} {
			events := []string{started, snapshot(user), runError(c.message, "E1")}
			if s.Projection == project.FoldedStream {
				events[1] = chunk(`"messageId":"a"`, `"delta":"Hello"`)
			}
			r := projectRun(t, s, `{"messages":[]}`, events...)
			if r.out == nil {
				t.Errorf("%s, %s: %v", c.name, s.Projection, formatFindings(r.findings))
				continue
			}
			if r.out.Artifact.ErrorMessage != c.want || r.out.Artifact.ErrorCode != "E1" {
				t.Errorf("%s, %s: %q", c.name, s.Projection, r.out.Artifact.ErrorMessage)
			}
			if diff := cmp.Diff(orEmpty(c.left), formatOmissions(r.out.Omissions)); diff != "" {
				t.Errorf("%s, %s: %s", c.name, s.Projection, diff)
			}
		}
	}
}

// An error code is cut in the same way. A code that consists of a trace only is
// omitted; a message cannot be omitted.
func TestStackTraceAlone(t *testing.T) {
	r := projectRun(t, text("last", ""), "", started, snapshot(user), runError("it broke", trace))
	if r.out == nil || r.out.Artifact.ErrorCode != "" {
		t.Fatalf("%+v %v", r.out, formatFindings(r.findings))
	}
	if diff := cmp.Diff([]string{"error_stack_trace #2 /code", "value_blank #2 /code"}, formatOmissions(r.out.Omissions)); diff != "" {
		t.Error(diff)
	}
	r = projectRun(t, text("last", ""), "", started, snapshot(user), runError(" \n"+trace, "E1"))
	if diff := cmp.Diff([]string{"key_missing #2 /message"}, formatFindings(r.findings)); diff != "" || r.out != nil {
		t.Fatal(diff)
	}
	if f := r.findings[0]; !strings.Contains(f.Message, "consists of a stack trace") || !strings.Contains(f.Hint, "describe the failure") {
		t.Errorf("%+v", f)
	}
}

// The strict projection refuses a stack trace. It suggests the projection that cuts
// the trace if a message would remain. The first versions of all projections accept
// the trace, which the contract did not forbid yet.
func TestStackTraceVersions(t *testing.T) {
	oneLine := "it broke: " + strings.ReplaceAll(trace, "\n", `\n`)
	alone := strings.ReplaceAll(trace, "\n", `\n`)
	for _, c := range []struct {
		message, code string
		want          []string
		advice        int
	}{
		{oneLine, "E1", []string{"error_stack_trace #2 /message"}, 1},
		{"it broke", alone, []string{"error_stack_trace #2 /code"}, 1},
		{alone, "E1", []string{"error_stack_trace #2 /message"}, 0},
	} {
		r := projectRun(t, strict, "", started, snapshot(user), runError(c.message, c.code))
		if diff := cmp.Diff(c.want, formatFindings(r.findings)); diff != "" || r.out != nil {
			t.Error(diff)
		}
		advice := 0
		for _, f := range r.findings {
			if strings.Contains(f.Hint, "--projection emitted-snapshot-text") {
				advice++
			}
		}
		if advice != c.advice {
			t.Errorf("%q: %+v", c.message, r.findings)
		}
	}
	for _, s := range []project.Settings{
		{Projection: project.EmittedSnapshot, Version: 1}, {Projection: project.EmittedSnapshotText, Version: 1},
		{Projection: project.FoldedStream, Version: 1}, {Projection: project.FoldedStream, Version: 2},
	} {
		events := []string{strings.NewReplacer("t1", "example.com/t", "r1", "mailto:r").Replace(started), snapshot(user), runError(oneLine, alone)}
		if s.Projection == project.FoldedStream {
			events[1] = chunk(`"messageId":"a"`, `"delta":"Hello"`)
		}
		r := projectRun(t, s, `{"messages":[]}`, events...)
		if r.out == nil {
			t.Errorf("%s@%d: %v", s.Projection, s.Version, formatFindings(r.findings))
			continue
		}
		if r.out.Artifact.ErrorMessage != oneLine || r.out.Artifact.ErrorCode != alone || slices.ContainsFunc(r.out.Assay, func(f finding.Finding) bool { return slices.Contains(youngRules, f.Rule) }) {
			t.Errorf("%s@%d: %q, %q %v", s.Projection, s.Version, r.out.Artifact.ErrorMessage, r.out.Artifact.ErrorCode, formatFindings(r.out.Assay))
		}
	}
}

// Artifacts of the reducing projections never contain a stack trace, for any text
// before it. Their error text is a prefix of the original text without its leading
// line ends.
func TestStackTraceProperty(t *testing.T) {
	shapes := []string{
		trace,
		"Error: no\n    at divide (/srv/agent.js:7:11)\n    at main (/srv/agent.js:9:1)",
		"java.lang.ArithmeticException: / by zero\n\tat com.example.Agent.divide(Agent.java:7)\n\tat com.example.Agent.main(Agent.java:3)",
		"panic: no\n\ngoroutine 1 [running]:\nmain.divide()\n\t/srv/agent.go:7 +0x1d",
		"stack backtrace:\n   0: rust_begin_unwind\n             at /rustc/library/std/src/panicking.rs:645:5",
		"System.DivideByZeroException: no\n   at Agent.Divide() in /srv/Agent.cs:line 7",
	}
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringOfN(rapid.RuneFrom([]rune("ab :\n\\né😀")), 0, 1100, -1).Draw(t, "before")
		shape := rapid.SampledFrom(shapes).Draw(t, "shape")
		if rapid.Bool().Draw(t, "one line") {
			shape = strings.ReplaceAll(strings.ReplaceAll(shape, "\n", `\n`), "\t", `\t`)
		}
		message := before + rapid.SampledFrom([]string{"", "\n", `\n`, " "}).Draw(t, "gap") + shape
		s := project.Settings{Projection: project.EmittedSnapshotText, Profile: rapid.SampledFrom([]artifact.Profile{artifact.V1, artifact.Assay}).Draw(t, "profile")}
		r := projectRun(t, s, "", started, snapshot(user), runError(message, "E1"))
		if r.out == nil {
			if diff := cmp.Diff([]string{"key_missing #2 /message"}, formatFindings(r.findings)); diff != "" {
				t.Fatal(diff)
			}
			return
		}
		want := r.out.Artifact.ErrorMessage
		if artifact.IndexStackTrace(want) >= 0 || !strings.HasPrefix(message, want) && !strings.HasPrefix(strings.TrimLeftFunc(message, artifact.IsSpace), want) {
			t.Fatalf("%q became %q", message, want)
		}
		if o := formatOmissions(r.out.Omissions); len(o) != 1 || o[0] != "error_stack_trace #2 /message" && o[0] != "text_shortened #2 /message" {
			t.Fatal(fmt.Sprint(o))
		}
	})
}

// Versions before those shapes were added to A26 neither cut nor refuse a text with one of
// them. The newest versions do.
func TestAddedShapes(t *testing.T) {
	for _, message := range []string{
		"it broke: thread 'main' panicked at src/main.rs:4:5: boom",
		"it broke: a.B.c(B.java:3), d.E.f(E.kt:4)",
		"it broke: Error at A.B(), at C.D()",
		"it broke: Stack trace: #0 {main}",
		"it broke: a.rb:3:in `f'",
		"it broke: a.swift:3: Fatal error: boom",
		"it broke: (a 0.1.0) lib/a.ex:3: A.f/1",
	} {
		for name, newest := range map[project.Name]int{project.EmittedSnapshot: 3, project.EmittedSnapshotText: 3, project.FoldedStream: 4} {
			for _, version := range []int{newest - 1, newest} {
				events := []string{started, snapshot(user), runError(message, "E1")}
				if name == project.FoldedStream {
					events[1] = chunk(`"messageId":"a"`, `"delta":"Hello"`)
				}
				r := projectRun(t, project.Settings{Projection: name, Version: version}, `{"messages":[]}`, events...)
				switch {
				case version < newest:
					if r.out == nil || r.out.Artifact.ErrorMessage != message {
						t.Errorf("%s@%d: %+v %v", name, version, r.out, formatFindings(r.findings))
					}
				case name == project.EmittedSnapshot:
					if diff := cmp.Diff([]string{"error_stack_trace #2 /message"}, formatFindings(r.findings)); diff != "" || r.out != nil {
						t.Errorf("%s@%d: %s", name, version, diff)
					}
				case r.out == nil || !strings.HasPrefix(message, r.out.Artifact.ErrorMessage) || len(r.out.Artifact.ErrorMessage) >= len(message) || !finding.Has(r.findings, finding.ErrorStackTrace) && len(r.out.Omissions) == 0:
					t.Errorf("%s@%d: %+v %v", name, version, r.out, formatFindings(r.findings))
				}
			}
		}
	}
}
