//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// OpenDirectory removes temporary files that no program has locked, and nothing else.
func TestReap(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{temporaryPrefix + "KILLEDKILLEDKILLEDKILLEDKI.tmp", temporaryPrefix + "KILLEDTOOKILLEDTOOKILLEDTO.tmp", temporaryPrefix + "other", "other.tmp"} {
		write(name)
	}
	pipe, link, folder := temporaryPrefix+"PIPEPIPEPIPEPIPEPIPEPIPEPI.tmp", temporaryPrefix+"LINKLINKLINKLINKLINKLINKLI.tmp", temporaryPrefix+"FOLDERFOLDERFOLDERFOLDERFO.tmp"
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, pipe), 0o600), os.Symlink("other.tmp", filepath.Join(dir, link)), os.Mkdir(filepath.Join(dir, folder), 0o700)); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	want := map[string]string{
		temporaryPrefix + "other": "", "other.tmp": "",
		pipe: fs.ModeNamedPipe.String(), link: fs.ModeSymlink.String(), folder: "directory",
	}
	mustHold(t, dir, want)
	d.named = true
	s := d.stage(t, "held")
	want[filepath.Base(s.temp)] = "held"
	opened(t, dir)
	mustHold(t, dir, want)
	s.Discard()
	delete(want, filepath.Base(s.temp))
	mustHold(t, dir, want)
}

// Concurrent writers with temporary names do not remove each other's files.
func TestReapAtOnce(t *testing.T) {
	dir := t.TempDir()
	errs := atOnce(32, func(i int) error {
		d, err := OpenDirectory(dir)
		if err != nil {
			return err
		}
		defer d.Close()
		d.named = true
		return d.put(fmt.Sprint(i), "x")
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if all := testkit.Contents(t, dir); len(all) != 32 {
		t.Errorf("%d files", len(all))
	}
}
