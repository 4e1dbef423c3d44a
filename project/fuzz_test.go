package project_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/project/record"
)

// FuzzDecodeRecord checks that an accepted record encodes to the same bytes, and that
// it equals itself and no record of another run.
func FuzzDecodeRecord(f *testing.F) {
	files, err := filepath.Glob("../examples/*/frozen/*.record.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no records to begin with: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(bytes.TrimSpace(data))
		f.Add(bytes.ReplaceAll(data, []byte("  "), nil))
	}
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Decode(data)
		if err != nil {
			if r != nil || err.Error() == "" {
				t.Fatalf("both the record %v and the error %v", r, err)
			}
			return
		}
		again, err := r.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%v: its encoding differs:\n%s", err, again)
		}
		if same, err := r.EqualExceptTool(r); err != nil || !same {
			t.Fatalf("%v: it is not the same as itself", err)
		}
		other := *r
		other.Predicate.Capture.Run++
		if same, err := r.EqualExceptTool(&other); err != nil || same {
			t.Fatalf("%v: it is the same as one of another run", err)
		}
	})
}
