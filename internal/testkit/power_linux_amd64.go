package testkit

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk knows what a loss of power would leave of a directory that a traced program
// writes to. The program must be traced with Entered and Left.
//
// Only what the program has synced is certain to be left: of a file the content at its
// last sync, and of a directory the names at its last sync. What came later may be left
// as well: a directory may have its names of any time since, and a file may have its new
// content, the first part of it, or zeros in its place.
type Disk struct {
	t       testing.TB
	root    *inode
	inodes  map[uint64]*inode
	syncing map[int]func() // what a sync makes durable, by thread
	random  *rand.Rand
}

// inode is a file or directory. It stays open, so that its number is not used again.
type inode struct {
	file    *os.File // opened without access
	dir     bool
	durable []byte  // the content at the last sync
	names   []names // since the last sync, which has the first
	dropped int     // number of names before the first
}

// names are the entries of a directory.
type names map[string]*inode

// Left is what a loss of power could leave: the content of files, and nil for
// directories, by path.
type Left map[string][]byte

// NewDisk returns a Disk for a directory that is durable with its content.
func NewDisk(t testing.TB, root string) *Disk {
	t.Helper()
	d := &Disk{t: t, inodes: map[uint64]*inode{}, syncing: map[int]func(){}, random: rand.New(rand.NewPCG(1, 1))}
	d.root = d.hold(root, unix.O_NOFOLLOW)
	if d.root == nil {
		t.Fatalf("%s cannot be opened", root)
	}
	t.Cleanup(func() {
		for _, i := range d.inodes {
			i.file.Close()
		}
	})
	d.look()
	for _, i := range d.inodes {
		d.saved(i)()
	}
	return d
}

// hold returns the inode at a path, or nil if there is none. The flags are those of open.
func (d *Disk) hold(path string, flags int) *inode {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		f.Close()
		return nil
	}
	if i := d.inodes[info.Ino]; i != nil {
		f.Close()
		return i
	}
	i := &inode{file: f, dir: info.Mode&unix.S_IFMT == unix.S_IFDIR}
	if i.dir {
		i.names = []names{{}}
	}
	d.inodes[info.Ino] = i
	return i
}

// path returns a path to the open inode.
func (i *inode) path() string { return fmt.Sprintf("/proc/self/fd/%d", i.file.Fd()) }

// content returns the present content of a file, also if it has no name.
func (i *inode) content() []byte {
	f, err := os.Open(i.path())
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(f)
	return data
}

// list returns the present entries of a directory.
func (d *Disk) list(i *inode) names {
	all := names{}
	entries, _ := os.ReadDir(i.path())
	for _, e := range entries {
		if at := d.hold(filepath.Join(i.path(), e.Name()), unix.O_NOFOLLOW); at != nil {
			all[e.Name()] = at
		}
	}
	return all
}

// look records the present entries of all directories.
func (d *Disk) look() {
	seen := map[*inode]bool{}
	var visit func(i *inode)
	visit = func(i *inode) {
		if seen[i] {
			return
		}
		seen[i] = true
		now := d.list(i)
		if !maps.Equal(now, i.names[len(i.names)-1]) {
			i.names = append(i.names, now)
		}
		for _, at := range now {
			if at.dir {
				visit(at)
			}
		}
	}
	visit(d.root)
}

// saved returns a function that makes the present state of an inode durable.
func (d *Disk) saved(i *inode) func() {
	if !i.dir {
		content := i.content()
		return func() { i.durable = content }
	}
	now := i.dropped + len(i.names) - 1
	return func() { // names that came after the sync began are not durable
		if drop := now - i.dropped; drop > 0 {
			i.names = slices.Clone(i.names[drop:])
			i.dropped = now
		}
	}
}

// Entered must be called before each call of the program.
func (d *Disk) Entered(tid int, c Call) {
	delete(d.syncing, tid)
	switch c.Name {
	case "fsync", "fdatasync":
		if !d.below(c.Path) {
			return
		}
		d.look()
		if i := d.descriptor(c, c.FD); i != nil {
			d.syncing[tid] = d.saved(i)
		}
	case "syncfs":
		d.look()
		var all []func()
		for _, i := range d.inodes {
			all = append(all, d.saved(i))
		}
		d.syncing[tid] = func() {
			for _, save := range all {
				save()
			}
		}
	}
}

// Left must be called after each successful call of the program. It reports whether the
// call may have changed what a loss of power would leave.
func (d *Disk) Left(tid int, c Call) bool {
	if save := d.syncing[tid]; save != nil {
		save()
		return true
	}
	if !d.below(c.Path) && !d.below(c.From) {
		return false
	}
	switch c.Name {
	case "openat":
		if c.Flags&(unix.O_CREAT|unix.O_TMPFILE) == 0 {
			return false
		}
		d.descriptor(c, uint64(c.Result))
	case "write", "pwrite64", "copy_file_range", "ftruncate", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "renameat", "renameat2", "linkat":
	default:
		return false
	}
	d.look()
	return true
}

func (d *Disk) below(path string) bool {
	return path == d.root.file.Name() || strings.HasPrefix(path, d.root.file.Name()+"/")
}

// descriptor returns the inode of a descriptor of the program.
func (d *Disk) descriptor(c Call, fd uint64) *inode {
	return d.hold(filepath.Join("/proc", strconv.Itoa(c.pid), "fd", strconv.FormatUint(fd, 10)), 0)
}

// PowerLoss returns what a loss of power could leave now: only what is certain; all names
// with certain content, with zeros in place of the rest, and with the present content;
// the certain names with the present content; and two random mixtures.
func (d *Disk) PowerLoss() []Left {
	first := func(i *inode) names { return i.names[0] }
	last := func(i *inode) names { return i.names[len(i.names)-1] }
	durable := func(i *inode) []byte { return i.durable }
	zeros := func(i *inode) []byte {
		n := len(i.durable)
		return append(slices.Clone(i.durable), make([]byte, max(0, len(i.content())-n))...)
	}
	states := []Left{
		d.state(first, durable), d.state(last, durable), d.state(last, zeros),
		d.state(first, (*inode).content), d.state(last, (*inode).content),
	}
	for range 2 {
		states = append(states, d.state(
			func(i *inode) names { return i.names[d.random.IntN(len(i.names))] },
			func(i *inode) []byte {
				switch now := i.content(); d.random.IntN(4) {
				case 0:
					return durable(i)
				case 1:
					return zeros(i)
				case 2:
					n := min(len(i.durable), len(now))
					return now[:n+d.random.IntN(len(now)-n+1)]
				default:
					return now
				}
			}))
	}
	return states
}

// state returns the files of the directory with given names and contents. A directory or
// file with several names is the same under all of them.
func (d *Disk) state(list func(*inode) names, content func(*inode) []byte) Left {
	all, contents := Left{}, map[*inode][]byte{}
	var visit func(i *inode, path string)
	visit = func(i *inode, path string) {
		for name, at := range list(i) {
			path := filepath.Join(path, name)
			if at.dir {
				all[path] = nil
				visit(at, path)
				continue
			}
			if _, ok := contents[at]; !ok {
				contents[at] = append([]byte{}, content(at)...)
			}
			all[path] = contents[at]
		}
	}
	visit(d.root, "")
	return all
}

// Write writes the files into the new directory dir.
func (l Left) Write(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range l {
		path = filepath.Join(dir, path)
		if content == nil {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		Write(t, path, content)
	}
}
