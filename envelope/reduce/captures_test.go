package reduce_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/scan"
)

var update = flag.Bool("update", false, "write testdata/captures.txt")

// TestCommittedCaptures compares the messages and the state at the end of every run of
// every committed capture with testdata/captures.txt.
func TestCommittedCaptures(t *testing.T) {
	t.Parallel()
	const root, golden = "../../discovery", "testdata/captures.txt"
	paths, err := filepath.Glob(root + "/captures/*/*/capture.json")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	more, err := filepath.Glob(root + "/drift/captures/*/*/capture.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, path := range append(paths, more...) {
		path = filepath.Dir(path)
		c, err := capture.Open(t.Context(), path, "")
		if err != nil {
			t.Fatal(err)
		}
		request, err := c.Request()
		if err != nil {
			t.Fatal(err)
		}
		s := summary{Reducer: reduce.New(reduce.Options{})}
		if request != nil {
			s.found = s.Seed(request)
		}
		if _, err := scan.Run(t.Context(), c, nil, &s); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		for i, run := range s.runs {
			fmt.Fprintf(&got, "%s run %d: %s\n", name, i+1, run)
		}
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// summary describes the messages and the state at the end of each run.
type summary struct {
	*reduce.Reducer
	found []finding.Finding
	runs  []string
}

func (s *summary) Begin(*envelope.Run) scan.Observer { return observer{s} }
func (s *summary) Finish(scan.Result) error          { return nil }

type observer struct{ *summary }

func (s observer) Event(e *envelope.Event) { s.found = append(s.found, s.Reducer.Event(e)...) }

func (s observer) End(*envelope.Run) error {
	messages, state := s.AppendMessages(nil), s.AppendState(nil)
	text := fmt.Sprintf("messages %x, state %x", sha256.Sum256(messages), sha256.Sum256(state))
	for _, f := range s.found {
		text += ", " + string(f.Code)
	}
	s.found = nil
	s.runs = append(s.runs, text)
	return nil
}
