package freeze_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/verify"
)

const captures = "../../discovery/captures"

var tool = record.Tool{Name: record.ToolName, Version: "0.0.1"}

// Freezing in memory and freezing to files have the same bytes, and both verify, for
// every committed capture under every projection.
func TestMemoryIsFiles(t *testing.T) {
	paths, err := filepath.Glob(captures + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	frozen, refused := 0, 0
	for _, path := range paths {
		for _, name := range project.Names() {
			s := freeze.Settings{Settings: project.Settings{Projection: name}, Dir: t.TempDir(), Tool: tool}
			rows, err := freeze.Freeze(t.Context(), path, s)
			if err != nil {
				t.Fatal(err)
			}
			c := open(t, path)
			runs, err := freeze.Capture(t.Context(), c, s)
			if err != nil || len(runs) != len(rows) {
				t.Fatalf("%s: %d runs in memory, %d in files (%v)", path, len(runs), len(rows), err)
			}
			for i, row := range rows {
				run := runs[i]
				if row.Verdict != project.Frozen {
					refused++
					if diff := cmp.Diff(row, run.Row); diff != "" || run.Files.Artifact != nil {
						t.Errorf("%s under %s (-files +memory)\n%s", path, name, diff)
					}
					continue
				}
				frozen++
				for file, data := range map[string][]byte{*row.Artifact: run.Files.Artifact, *row.Envelope: run.Files.Envelope, *row.Record: run.Files.Record} {
					if there, err := os.ReadFile(file); err != nil || !bytes.Equal(there, data) {
						t.Errorf("%s: %d bytes in memory, %d in the file (%v)", file, len(data), len(there), err)
					}
				}
				files := verify.Files{Name: filepath.Base(*row.Artifact), Artifact: run.Files.Artifact, Envelope: run.Files.Envelope, Record: run.Files.Record}
				if v := verify.Capture(t.Context(), open(t, path), files); v.Verdict != project.Verified {
					t.Errorf("%s under %s: %s %v", path, name, v.Verdict, v.Findings)
				}
				row.Artifact, row.Envelope, row.Record = nil, nil, nil
				if diff := cmp.Diff(row, run.Row); diff != "" {
					t.Errorf("%s under %s (-files +memory)\n%s", path, name, diff)
				}
			}
		}
	}
	if frozen < 100 || refused < 100 {
		t.Errorf("%d runs frozen, %d refused", frozen, refused)
	}
}

func open(t *testing.T, path string) *capture.Capture {
	t.Helper()
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The files do not depend on how a reader splits its bytes. A reader that fails results
// in no files.
func TestReaderHoweverItReads(t *testing.T) {
	want, err := freeze.Reader(t.Context(), bytes.NewReader([]byte(response)), "hello", freeze.Settings{Tool: tool})
	if err != nil || len(want) != 1 || want[0].Verdict != project.Frozen {
		t.Fatalf("%+v, %v", want, err)
	}
	whole := func() *bytes.Reader { return bytes.NewReader([]byte(response)) }
	for how, r := range map[string]io.Reader{
		"a byte at a time":            iotest.OneByteReader(whole()),
		"its end with its last bytes": iotest.DataErrReader(whole()),
		"half of what it is asked to": iotest.HalfReader(whole()),
	} {
		got, err := freeze.Reader(t.Context(), r, "hello", freeze.Settings{Tool: tool})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", how, err, diff)
		}
	}
	broken, err := freeze.Reader(t.Context(), iotest.TimeoutReader(iotest.HalfReader(whole())), "hello", freeze.Settings{Tool: tool})
	if err != nil || len(broken) != 1 || broken[0].Verdict != project.Failed || broken[0].Files.Artifact != nil {
		t.Errorf("broken off: %+v, %v", broken, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped, err := freeze.Reader(ctx, bytes.NewReader([]byte(response)), "hello", freeze.Settings{Tool: tool})
	if err != nil || len(stopped) != 1 || stopped[0].Verdict != project.Failed || stopped[0].Findings[0].Code != "interrupted" {
		t.Errorf("interrupted: %+v, %v", stopped, err)
	}
	if _, err := freeze.Reader(t.Context(), bytes.NewReader(nil), "x", freeze.Settings{Settings: project.Settings{Projection: "none"}}); err == nil {
		t.Error("a projection that is not known is no error")
	}
}

// counted cancels the context at its third read and counts the following reads.
type counted struct {
	cancel context.CancelFunc
	reads  int
}

func (c *counted) Read(p []byte) (int, error) {
	if c.reads++; c.reads == 3 {
		c.cancel()
	}
	return copy(p, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"), nil
}

// An endless reader is read until the context ends.
func TestReaderEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	endless := &counted{cancel: cancel}
	runs, err := freeze.Reader(ctx, endless, "endless", freeze.Settings{Tool: tool})
	if err != nil || len(runs) != 1 || runs[0].Findings[0].Code != finding.Interrupted {
		t.Errorf("%+v, %v", runs, err)
	}
}

// Invalid settings are an error, and nothing is written.
func TestSettingsRefused(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "sub")
	path := captures + "/adk/one-turn"
	for _, s := range []freeze.Settings{
		{Dir: out, Name: "../escaped"}, {Dir: out, Name: "a/b"}, {Dir: out, Name: ".."}, {Dir: out, Name: "a\xff"}, {Dir: out, Name: "a\x00"},
		{Dir: out, Tool: record.Tool{Name: "another"}}, {Dir: out, Settings: project.Settings{Snapshot: "0"}},
	} {
		if rows, err := freeze.Freeze(t.Context(), path, s); err == nil {
			t.Errorf("%+v: %+v", s, rows)
		}
	}
	var bad *freeze.NameError
	if _, err := freeze.Reader(t.Context(), bytes.NewReader([]byte(response)), "../x", freeze.Settings{}); !errors.As(err, &bad) || bad.Name != "../x" {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v was written (%v)", left, err)
	}
	// Without a tool, the record names this program and verifies.
	c := open(t, path)
	runs, err := freeze.Capture(t.Context(), c, freeze.Settings{})
	if err != nil || runs[0].Verdict != project.Frozen {
		t.Fatalf("%+v, %v", runs, err)
	}
	files := verify.Files{Artifact: runs[0].Files.Artifact, Envelope: runs[0].Files.Envelope, Record: runs[0].Files.Record}
	if row := verify.Capture(t.Context(), open(t, path), files); row.Verdict != project.Verified {
		t.Errorf("%+v", row)
	}
	// A capture can be read only once.
	if again, err := freeze.Capture(t.Context(), c, freeze.Settings{}); err != nil || again[0].Verdict != project.Failed || again[0].Findings[0].Code != finding.IOFailed {
		t.Errorf("read again: %+v, %v", again, err)
	}
}
