//go:build unix

package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEqual(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	other := filepath.Join(dir, "other")
	put := func(path string, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(other, data)
	put(path, data)
	changed := bytes.Clone(data)
	changed[len(changed)-1]++
	for _, tt := range []struct {
		data []byte
		want bool
	}{{data, true}, {changed, false}, {data[1:], false}, {append(bytes.Clone(data), 0), false}, {nil, false}} {
		put(other, tt.data)
		if got, err := equalFiles(path, other); got != tt.want || err != nil {
			t.Errorf("%d bytes: %v, %v", len(tt.data), got, err)
		}
	}
}

func equalFiles(there, staged string) (bool, error) {
	a, err := os.Open(there)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.ReadFile(staged)
	if err != nil {
		return false, err
	}
	reader, err := content(a)
	if err != nil {
		return false, err
	}
	return Equal(reader, io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))))
}

// Files may change while they are compared, and reading may fail.
func TestEqualReaders(t *testing.T) {
	failing := errors.New("failing")
	half := func() io.Reader { return strings.NewReader("half") }
	broken := func() io.Reader { return io.MultiReader(half(), iotest.ErrReader(failing)) }
	for name, c := range map[string]struct {
		a, b io.Reader
		want bool
		err  error
	}{
		"same":         {half(), half(), true, nil},
		"longer":       {half(), strings.NewReader("half more"), false, nil},
		"first fails":  {broken(), half(), false, failing},
		"second fails": {half(), broken(), false, failing},
	} {
		if got, err := equal(c.a, c.b); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
