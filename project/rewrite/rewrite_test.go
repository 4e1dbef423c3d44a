package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/rewrite"
	"github.com/p20export/p20export/project/scan"
)

var modes = []compact.Mode{compact.ModeStream, compact.ModeClient, compact.ModeSnapshot}

// write returns the copy that Write makes, which must succeed.
func write(t testing.TB, path string, s rewrite.Settings) string {
	t.Helper()
	var out bytes.Buffer
	row, err := rewrite.Write(t.Context(), path, &out, s)
	if err != nil || row.Verdict != project.Written || int64(out.Len()) != *row.Bytes {
		t.Fatalf("%s: %v, %d bytes, %v", path, row, out.Len(), err)
	}
	return out.String()
}

// frames returns the data of the frames of a response.
func frames(t testing.TB, text string, framing capture.Framing) (list []string) {
	t.Helper()
	s := capture.NewSplitter(strings.NewReader(text), framing)
	for {
		f, err := s.Next()
		if err != nil {
			return list
		}
		list = append(list, string(f.Data))
	}
}

// conversation returns the messages and the state after a capture.
func conversation(t testing.TB, path string) string {
	t.Helper()
	c := scan.ReadConversation(t.Context(), inputs.File(path), scan.ConversationOptions{At: -1}, nil)
	if c.Failed {
		t.Fatalf("%s: %v", path, c.Findings)
	}
	return string(c.Messages) + "\n" + string(c.State)
}

// count returns the number of events of each type.
func count(t testing.TB, events []string) (c envelope.Counts) {
	t.Helper()
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.Add(e.Type)
	}
	return c
}

// A row counts the events of each type before and after.
func TestFamilies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.ndjson")
	before := []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`, `{ "messageId":"m","delta":"b", "type":"TEXT_MESSAGE_CONTENT"}`,
		`{"type": "CUSTOM","name":"n","value":null}`, `{"type":"\u0043USTOM","name":"n","value":null}`, `{"type" :"x\"y"}`, `{"type":"x"}`,
	}
	testkit.Write(t, path, strings.Join(before, "\n")+"\n")
	var out bytes.Buffer
	row, err := rewrite.Write(t.Context(), path, &out, rewrite.Settings{Mode: compact.ModeStream})
	if err != nil || row.Verdict != project.Written {
		t.Fatal(row, err)
	}
	after := frames(t, out.String(), capture.NDJSON)
	if got, want := fmt.Sprint(*row.CaptureFamilies), fmt.Sprint(count(t, before)); got != want {
		t.Errorf("the capture has %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(*row.Families), fmt.Sprint(count(t, after)); got != want || row.Families.Count("TEXT_MESSAGE_CONTENT") != 1 {
		t.Errorf("the copy has %s, want %s", got, want)
	}
}

// Every committed capture that consists of events has a copy in each mode and framing. All
// framings have the same events, an event has one line, and the copy of a copy is the same.
func TestCommittedCaptures(t *testing.T) {
	paths, err := filepath.Glob("../../discovery/captures/*/*")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	copied, seeded := 0, 0
	for _, path := range paths {
		var out bytes.Buffer
		row, err := rewrite.Write(t.Context(), path, &out, rewrite.Settings{Mode: compact.ModeStream})
		if err != nil {
			t.Fatal(err)
		}
		if row.Verdict != project.Written {
			if row.Verdict != project.Refused || len(row.Findings) == 0 || out.Len() > 0 {
				t.Errorf("%s: %v", path, row)
			}
			continue
		}
		copied++
		for _, mode := range modes {
			lines := write(t, path, rewrite.Settings{Mode: mode, Framing: capture.NDJSON})
			want := frames(t, lines, capture.NDJSON)
			for _, framing := range []capture.Framing{capture.SSE, capture.JSON} {
				text := write(t, path, rewrite.Settings{Mode: mode, Framing: framing})
				if got := frames(t, text, framing); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, mode %s: the events in %s differ", path, mode, framing)
				}
			}
			for _, event := range want {
				if strings.ContainsAny(event, "\r\n") {
					t.Errorf("%s: %s", path, event)
				}
				if _, err := envelope.ReadEvent([]byte(event)); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			again := filepath.Join(t.TempDir(), "again.ndjson")
			testkit.Write(t, again, lines)
			if got := write(t, again, rewrite.Settings{Mode: mode}); got != lines {
				t.Errorf("%s, mode %s: the copy of the copy differs", path, mode)
			}
			if mode == compact.ModeSnapshot && strings.Contains(lines, "MESSAGES_SNAPSHOT") {
				seeded++
				// The copy has the messages of request.json too.
				if got, want := conversation(t, again), conversation(t, path); got != want {
					t.Errorf("%s: the conversation is\n%s\nand then\n%s", path, want, got)
				}
			}
		}
	}
	if copied < 100 || seeded < 100 {
		t.Errorf("only %d captures have a copy, and %d a snapshot", copied, seeded)
	}
}

// Write and WriteFile give the same bytes and the same row.
func TestWriteFile(t *testing.T) {
	path := testkit.WriteCapture(t, "run", testkit.Started, testkit.Message, testkit.Snapshot, testkit.Finished)
	file := filepath.Join(t.TempDir(), "copy.json")
	s := rewrite.Settings{Mode: compact.ModeClient, Framing: capture.JSON}
	for range 2 {
		row := rewrite.WriteFile(t.Context(), path, file, s)
		if row.Verdict != project.Written || row.File != file || *row.Framing != capture.JSON {
			t.Fatalf("%v", row)
		}
		if got, want := string(testkit.Read(t, file)), write(t, path, s); got != want || int64(len(got)) != *row.Bytes {
			t.Errorf("the file has\n%s\nand not\n%s", got, want)
		}
	}
	row := rewrite.WriteFile(t.Context(), path, file, rewrite.Settings{Mode: compact.ModeClient})
	if row.Verdict != project.Failed || row.Bytes != nil || !finding.Has(row.Findings, finding.OutputExists) {
		t.Errorf("%v", row)
	}
	testkit.RequireNames(t, filepath.Dir(file), "copy.json")
}

// A cancelled context leaves no file.
func TestCancelled(t *testing.T) {
	path := testkit.WriteCapture(t, "run", testkit.Started, testkit.Finished)
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	dir := t.TempDir()
	if row := rewrite.WriteFile(ctx, path, filepath.Join(dir, "copy"), rewrite.Settings{Mode: compact.ModeStream}); row.Verdict != project.Failed {
		t.Errorf("%v", row)
	}
	testkit.RequireNames(t, dir)
}
