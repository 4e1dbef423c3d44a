package testkit

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stepsVariable is the environment variable that makes the test program take steps.
const stepsVariable = "P20EXPORT_TEST_STEPS"

func TestMain(m *testing.M) {
	if steps := os.Getenv(stepsVariable); steps != "" {
		for step := range strings.SplitSeq(steps, "; ") {
			if err := take(strings.Fields(step)); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		return
	}
	os.Exit(m.Run())
}

// take takes a step, which is like a shell command.
func take(step []string) error {
	open := func(name string, flags int, use func(*os.File) error) error {
		f, err := os.OpenFile(name, flags, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		return use(f)
	}
	switch step[0] {
	case "write":
		return open(step[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, func(f *os.File) error {
			_, err := f.WriteString(step[2])
			return err
		})
	case "sync":
		return open(step[1], os.O_RDONLY, (*os.File).Sync)
	case "syncfs":
		return open(".", os.O_RDONLY, func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	case "unnamed": // writes and syncs a file without a name, and links it
		return open(".", unix.O_TMPFILE|os.O_RDWR, func(f *os.File) error {
			if _, err := f.WriteString(step[2]); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, step[1], unix.AT_SYMLINK_FOLLOW)
		})
	case "mv":
		return os.Rename(step[1], step[2])
	case "ln":
		return os.Link(step[1], step[2])
	case "rm":
		return os.Remove(step[1])
	case "mkdir":
		return os.Mkdir(step[1], 0o777)
	}
	return fmt.Errorf("unknown step %q", step)
}

// TestDisk checks what a loss of power leaves of the files that a program writes.
func TestDisk(t *testing.T) {
	for _, tt := range []struct {
		name, steps string
		certain     string   // what is left in any case
		possible    []string // what may be left, too
		never       []string // what is never left
	}{
		{"nothing synced", "write a x", "old=o", []string{"a=,old=o", "a=\x00,old=o", "a=x,old=o"}, nil},
		{"content synced", "write a x; sync a", "old=o", []string{"a=x,old=o"}, []string{"a=,old=o"}},
		{"name synced", "write a x; sync .", "a=,old=o", []string{"a=\x00,old=o", "a=x,old=o"}, []string{"old=o"}},
		{"synced", "write a x; sync a; sync .", "a=x,old=o", nil, []string{"a=,old=o", "old=o"}},
		{"file system synced", "write a x; syncfs", "a=x,old=o", nil, []string{"a=,old=o", "old=o"}},
		{"without a name", "unnamed a x", "old=o", []string{"a=x,old=o"}, []string{"a=,old=o"}},
		{"appended", "write a xy; sync a; sync .; write a zz", "a=xy,old=o", []string{"a=xyz,old=o", "a=xyzz,old=o", "a=xy\x00\x00,old=o"}, []string{"a=,old=o", "a=x,old=o"}},
		{"renamed", "write a x; sync a; sync .; mv a b", "a=x,old=o", []string{"b=x,old=o"}, []string{"a=x,b=x,old=o", "old=o"}},
		{"renamed and synced", "write a x; sync a; mv a b; sync .", "b=x,old=o", nil, []string{"a=x,old=o", "old=o"}},
		{"renamed before the sync", "write a x; mv a old; sync .", "old=", []string{"old=x"}, []string{"old=o"}},
		{"linked", "write a x; sync a; sync .; ln a b", "a=x,old=o", []string{"a=x,b=x,old=o"}, nil},
		{"removed", "rm old", "old=o", []string{""}, nil},
		{"removed and synced", "rm old; sync .", "", nil, []string{"old=o"}},
		{"name used again", "rm old; sync .; write old x", "", []string{"old=x", "old="}, []string{"old=o"}},
		{"directory", "mkdir d; write d/a x; sync d/a; sync d", "old=o", []string{"d/,d/a=x,old=o"}, []string{"d/,old=o"}},
		{"directory without its names", "mkdir d; write d/a x; sync d/a; sync .", "d/,old=o", []string{"d/,d/a=x,old=o"}, []string{"d/,d/a=,old=o"}},
		{"directory renamed", "mkdir d; write d/a x; sync d/a; sync d; sync .; mv d e", "d/,d/a=x,old=o", []string{"e/,e/a=x,old=o"}, []string{"d/,old=o", "e/,old=o"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			Write(t, filepath.Join(dir, "old"), "o")
			d := NewDisk(t, dir)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), stepsVariable+"="+tt.steps)
			status, output := Observe(t, cmd, func(tid int, c Call) Fault {
				d.Entered(tid, c)
				return Fault{}
			}, func(tid int, c Call) { d.Left(tid, c) })
			if status != 0 {
				t.Fatalf("exit status %d: %s", status, output)
			}
			all := map[string]bool{}
			for range 50 {
				for i, left := range d.PowerLoss() {
					if i == 0 && left.text() != tt.certain {
						t.Fatalf("%q is left in any case, want %q", left.text(), tt.certain)
					}
					all[left.text()] = true
				}
			}
			for _, want := range tt.possible {
				if !all[want] {
					t.Errorf("%q is never left, but one of %q", want, slices.Sorted(maps.Keys(all)))
				}
			}
			for _, not := range tt.never {
				if all[not] {
					t.Errorf("%q is left", not)
				}
			}
			if len(tt.possible) == 0 && len(all) > 1 {
				t.Errorf("one of %q is left", slices.Sorted(maps.Keys(all)))
			}
		})
	}
}

// text returns the files and directories in one line.
func (l Left) text() string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(l)) {
		if l[path] == nil {
			all = append(all, path+"/")
			continue
		}
		all = append(all, path+"="+string(l[path]))
	}
	return strings.Join(all, ",")
}
