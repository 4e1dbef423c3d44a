package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// A file that takes the name in the moment of the replacement is put back. If its name was
// taken again by then, the error says what it is called.
func TestReplaceExchanged(t *testing.T) {
	for _, again := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "final")
		testkit.Write(t, path, "old")
		d := opened(t, dir)
		d.named = true
		s := d.stage(t, "new")
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		err = s.replaceChecked(path, info, func(a, b string) error {
			if calls++; calls == 1 || again {
				data := map[int]string{1: "first", 2: "second"}[calls]
				if err := errors.Join(os.WriteFile(path+".new", []byte(data), 0o666), os.Rename(path+".new", path)); err != nil {
					t.Fatal(err)
				}
			}
			return renameExchange(a, b)
		})
		if !errors.Is(err, fs.ErrExist) || calls != 2 || strings.Contains(err.Error(), temporaryPrefix) != again {
			t.Errorf("%d calls: %v", calls, err)
		}
		s.Discard()
		all := testkit.Contents(t, dir)
		if all["final"] != "first" || len(all) != map[bool]int{false: 1, true: 2}[again] {
			t.Errorf("%v", all)
		}
		for name, data := range all {
			if name != "final" && (data != "second" || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s has %q: %v", name, data, err)
			}
		}
	}
}
