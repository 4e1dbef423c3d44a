package rewrite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/internal/testkit"
)

// An error while writing ends the reading of the capture.
func TestWriteErrorStops(t *testing.T) {
	const events = 100_000
	line := `{"type":"CUSTOM","name":"n","value":null}` + "\n"
	path := filepath.Join(t.TempDir(), "long.ndjson")
	testkit.Write(t, path, strings.Repeat(line, events))
	full, read := errors.New("full"), int64(0)
	s := Settings{Mode: compact.ModeStream, Progress: func(n int64) { read = n }}
	row := Row{Capture: path}
	if err := row.compact(t.Context(), s, failing{full}); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if size := int64(len(line) * events); read == 0 || read > size/2 {
		t.Errorf("%d bytes were read of %d", read, size)
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
