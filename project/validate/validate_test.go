package validate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

// repeated is an endless stream that consists of head and repetitions of text. The test
// fails if more than most bytes are read.
type repeated struct {
	head, text string
	most, n    int
}

var errReadOn = errors.New("the stream was read on")

func (r *repeated) Read(p []byte) (int, error) {
	if r.n > r.most {
		return 0, errReadOn
	}
	if r.head == "" {
		r.head = strings.Repeat(r.text, 1+(64<<10)/len(r.text))
	}
	n := copy(p, r.head)
	r.head = r.head[n:]
	r.n += n
	return n, nil
}

// Reading an endless stream stops when the verdict is known.
func TestEndlessStream(t *testing.T) {
	const (
		started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n"
		artifact = artifact.MaxFileBytes + 1<<20
		lines    = 32 << 20
	)
	for _, tt := range []struct {
		name string
		in   repeated
		kind validate.Kind
	}{
		{"lines", repeated{text: "y\n", most: artifact}, ""},
		{"zeros", repeated{text: "\x00", most: artifact}, ""},
		{"white space", repeated{text: " ", most: artifact}, ""},
		{"the beginning of an artifact", repeated{head: `{"schema":"`, text: "a", most: artifact}, ""},
		{"an artifact and white space", repeated{head: "{}", text: "\n", most: artifact}, ""},
		{"lines of an envelope", repeated{text: "{\n", most: lines}, ""},
		{"events", repeated{text: started, most: lines}, ""},
		{"events of a list", repeated{head: "[{}", text: ",{}", most: lines}, ""},
		{"events of a stream", repeated{text: "data: " + started + "\n", most: lines}, ""},
	} {
		row := validate.Reader(&tt.in, "-", "v1", tt.kind)
		if row.Verdict != project.Malformed || len(row.Findings) != 1 || row.Findings[0].Code != finding.TooLarge {
			t.Errorf("%s: %s %v after %d bytes", tt.name, row.Verdict, row.Findings, tt.in.n)
		}
		if row.Digest != nil || row.Canonical != nil {
			t.Errorf("%s: a digest of what was not read", tt.name)
		}
	}
}

// An envelope with exactly the maximum number of events is checked by its contents.
func TestMostEvents(t *testing.T) {
	const most = 100_000
	for n, want := range map[int]bool{most: false, most + 1: true} {
		row := validate.Reader(strings.NewReader(strings.Repeat("{}\n", n)), "-", artifact.V1, validate.Envelope)
		if tooLarge := finding.Has(row.Findings, finding.TooLarge); tooLarge != want || (row.Digest == nil) != want || row.Verdict != project.Malformed {
			t.Errorf("%d events: %s, digest %v, %v", n, row.Verdict, row.Digest, row.Findings[0])
		}
	}
}

// A regular file is always read to its end and has a digest.
func TestLongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(path, make([]byte, artifact.MaxFileBytes+1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	row := validate.File(t.Context(), path, artifact.V1, "")
	if row.Verdict != project.Malformed || row.Digest == nil || row.Bytes != artifact.MaxFileBytes+1<<20 || !finding.Has(row.Findings, finding.TooLarge) {
		t.Errorf("%+v", row)
	}
}
