package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// The reducing projections accept a run whose terminal event names another run, and
// report it. Some integrations end each run with an id of their engine. The projection
// emitted-snapshot and the older versions refuse such a run.
func TestOtherRunAtEnd(t *testing.T) {
	const (
		otherFinished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"engine"}`
		otherFailed   = `{"type":"RUN_ERROR","message":"no","code":"c","runId":"engine","more":1}`
	)
	emitted := []string{started, snapshot(user, answer)}
	streamed := []string{started, chunk(`"messageId":"a"`, `"delta":"Hello"`)}
	for _, c := range []struct {
		of      project.Name
		version int
		events  []string
		end     string
		taken   bool
		left    []string
	}{
		{project.EmittedSnapshot, 1, emitted, otherFinished, false, nil},
		{project.EmittedSnapshot, 2, emitted, otherFinished, false, nil},
		{project.EmittedSnapshotText, 1, emitted, otherFinished, false, nil},
		{project.EmittedSnapshotText, 2, emitted, otherFinished, true, []string{"terminal_names_other_run #2 /runId"}},
		{project.EmittedSnapshotText, 2, emitted, otherFailed, true, []string{"terminal_names_other_run #2 /runId", "key_outside_subset #2 /more"}},
		{project.FoldedStream, 1, streamed, otherFinished, false, nil},
		{project.FoldedStream, 2, streamed, otherFinished, false, nil},
		{project.FoldedStream, 3, streamed, otherFinished, true, []string{"terminal_names_other_run #2 /runId"}},
		{project.FoldedStream, 3, streamed, otherFailed, true, []string{"terminal_names_other_run #2 /runId", "key_outside_subset #2 /more"}},
	} {
		name := fmt.Sprintf("%s@%d %s", c.of, c.version, c.end)
		r := projectRun(t, project.Settings{Projection: c.of, Version: c.version}, `{"messages":[]}`, append(c.events, c.end)...)
		const found = "terminal_names_other_run #2 /runId"
		if !c.taken {
			if diff := cmp.Diff([]string{found}, formatFindings(r.findings)); diff != "" || r.out != nil {
				t.Errorf("%s: %s", name, diff)
			}
			continue
		}
		if r.out == nil {
			t.Errorf("%s: %v", name, formatFindings(r.findings))
			continue
		}
		if !strings.Contains(strings.Join(formatFindings(r.findings), "\n"), "("+found+")") {
			t.Errorf("%s: %v", name, formatFindings(r.findings))
		}
		if diff := cmp.Diff(c.left, formatOmissions(r.out.Omissions)); diff != "" || r.out.Artifact.RunIDRef != "r1" {
			t.Errorf("%s: run %s, %s", name, r.out.Artifact.RunIDRef, diff)
		}
		if lines := strings.Split(string(r.out.Envelope), "\n"); lines[2] != c.end {
			t.Errorf("%s: the envelope ends in %s", name, lines[2])
		}
	}
}

// The strict projection suggests another projection if that one accepts the run.
func TestOtherRunAdvice(t *testing.T) {
	const end = `{"type":"RUN_FINISHED","runId":"engine"}`
	advice := func(events ...string) string {
		for _, f := range projectRun(t, strict, "", append(events, end)...).findings {
			if f.Code == finding.TerminalOtherRun {
				return f.Hint
			}
		}
		return "none"
	}
	if got := advice(started, snapshot(user)); !strings.HasPrefix(got, "--projection emitted-snapshot-text accepts the run") {
		t.Error(got)
	}
	if got := advice(started); strings.Contains(got, "--projection") {
		t.Errorf("of a run without a snapshot: %s", got)
	}
}

// Every projection refuses a run whose terminal event names another thread.
func TestOtherThreadAtEnd(t *testing.T) {
	for _, name := range project.Names() {
		r := projectRun(t, project.Settings{Projection: name}, `{"messages":[]}`, started, snapshot(user), `{"type":"RUN_FINISHED","threadId":"t2"}`)
		if r.out != nil || !finding.Has(r.findings, finding.TerminalOtherThread) {
			t.Errorf("%s: %v", name, formatFindings(r.findings))
		}
	}
}
