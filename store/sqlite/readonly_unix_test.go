//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// reads names the variable of a process that may only read a log: what it does, and the path.
const reads = "P20EXPORT_READ_ONLY"

// A readOnlyUser does something with a log that it may only read. It gets lines from the test, and
// what it writes is compared.
var readOnlyUsers = map[string]func(ctx context.Context, path string, in *bufio.Reader) error{
	"open to write": func(ctx context.Context, path string, _ *bufio.Reader) error {
		_, err := sqlite.Open(ctx, path, true)
		return err
	},
	"read": func(ctx context.Context, path string, _ *bufio.Reader) error {
		log, err := sqlite.Open(ctx, path, false)
		if err != nil {
			return err
		}
		for e, err := range log.Read(ctx, store.Key{Thread: "t"}, 0) {
			if err != nil {
				return err
			}
			fmt.Println("entry", e.Position)
		}
		for s, err := range log.Seals(ctx, store.Key{Thread: "t"}, 0) {
			if err != nil {
				return err
			}
			fmt.Printf("seal %d %s\n", s.Size, s.Checkpoint)
		}
		blocks, err := log.Blocks(ctx, store.Key{Thread: "t"})
		if err != nil || len(blocks) > 0 {
			return fmt.Errorf("blocks: %x, %w", blocks, err)
		}
		_, err = log.Append(ctx, store.Key{Thread: "t"}, 6, []store.Entry{{Stream: "new", Kind: store.Event}})
		fmt.Println(err)
		fmt.Println(log.Seal(ctx, store.Key{Thread: "t"}, store.Seal{Size: 6, Checkpoint: []byte("c")}, store.Blocks{}))
		_, err = log.Delete(ctx, store.Key{Thread: "t"})
		fmt.Println(err)
		_, err = log.Pack(ctx, store.Key{Thread: "t"})
		fmt.Println(err)
		_, err = log.(store.Leaser).Leases(ctx, nil)
		fmt.Println(err)
		return log.Close()
	},
	"follow": func(ctx context.Context, path string, _ *bufio.Reader) error {
		log, err := sqlite.Open(ctx, path, false)
		if err != nil {
			return err
		}
		for e, err := range log.Follow(ctx, store.Key{Thread: "t"}, 0) {
			if err != nil {
				return err
			}
			fmt.Println("entry", e.Position)
			if e.Position == 8 {
				break
			}
		}
		return log.Close()
	},
	"read later": func(ctx context.Context, path string, in *bufio.Reader) error {
		log, err := sqlite.Open(ctx, path, false)
		if err != nil {
			return err
		}
		fmt.Println("open")
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		_, err = log.Thread(ctx, store.Key{Thread: "t"})
		fmt.Println(err)
		for _, err := range log.Follow(ctx, store.Key{Thread: "t"}, 6) {
			return err
		}
		return errors.New("the log was followed to its end")
	},
}

const only = "the log can only be read: this user may not write the file, or not its directory, in which SQLite needs files of its own"

// TestSQLiteReadOnly uses logs as a user that may not write them. Root may write all files, so the
// user is another one, in a process of its own.
func TestSQLiteReadOnly(t *testing.T) {
	if do, path, ok := strings.Cut(os.Getenv(reads), " in "); ok {
		if err := readOnlyUsers[do](t.Context(), path, bufio.NewReader(os.Stdin)); err != nil {
			fmt.Println("error", err)
		}
		fmt.Println("end")
		return
	}
	t.Parallel()
	entries := "entry 1\nentry 2\nentry 3\nentry 4\nentry 5\nentry 6\nseal 3 a checkpoint\n"
	refused := "append to thread \"t\": " + only + "\nseal thread \"t\": " + only + "\ndelete thread \"t\": " + only + "\npack thread \"t\": " + only + "\nhold leases of the log: " + only + "\n"
	for _, modes := range []struct{ file, dir fs.FileMode }{{0o444, 0o555}, {0o444, 0o777}, {0o666, 0o555}} {
		t.Run(fmt.Sprintf("%o in %o", modes.file, modes.dir), func(t *testing.T) {
			t.Parallel()
			// Nobody uses the log.
			u := newReadOnly(t, modes.file, modes.dir)
			u.protect()
			before := u.list()
			u.start("read").want(entries + refused)
			if after := u.list(); after != before {
				t.Errorf("reading has left %s, before there were %s", after, before)
			}
			u.start("open to write").want("error open the log " + u.path + ": " + only + ": permission denied\n")
			later := u.start("read later")
			later.line("open")
			u.unprotect()
			log := u.open()
			u.append(log, 7)
			later.say()
			later.want("thread \"t\": another program has begun to write to the log, which this user may only read: open it again\n" +
				"error follow thread \"t\": another program has begun to write to the log, which this user may only read: open it again\n")

			// The owner uses it.
			u.protect()
			follower := u.start("follow")
			for i := range 7 {
				follower.line(fmt.Sprint("entry ", i+1))
			}
			u.append(log, 8)
			follower.want("entry 8\n")
			u.unprotect()

			// The owner was killed, and the index is gone.
			text, err := os.ReadFile(u.path + "-wal")
			must(t, err)
			must(t, log.Close())
			must(t, os.WriteFile(u.path+"-wal", text, 0o644))
			u.protect()
			u.start("read").want("error open the log " + u.path + ": the last entries are in " + u.path +
				"-wal, which this user cannot use: open the log once as its owner, which moves them to the file: no such file or directory\n")
		})
	}
}

// A readOnly is a log of six entries in a directory of its own, with the modes that the user has.
type readOnly struct {
	t         *testing.T
	dir, path string
	modes     [2]fs.FileMode
	program   string
}

func newReadOnly(t *testing.T, file, dir fs.FileMode) *readOnly {
	top, err := os.MkdirTemp("", "p20export")
	must(t, err)
	u := &readOnly{t: t, dir: filepath.Join(top, "logs"), modes: [2]fs.FileMode{file, dir}, program: filepath.Join(top, "test")}
	u.path = filepath.Join(u.dir, "log")
	t.Cleanup(func() { os.Chmod(u.dir, 0o755); os.RemoveAll(top) })
	must(t, os.Chmod(top, 0o755))
	must(t, os.Mkdir(u.dir, 0o755))
	log, err := sqlite.Open(t.Context(), u.path, true)
	must(t, err)
	fill(t, log, "t")
	must(t, log.Seal(t.Context(), store.Key{Thread: "t"}, store.Seal{Size: 3, Checkpoint: []byte("a checkpoint")}, store.Blocks{}))
	must(t, log.Close())
	program, err := os.Executable()
	must(t, err)
	text, err := os.ReadFile(program)
	must(t, err)
	must(t, os.WriteFile(u.program, text, 0o755))
	return u
}

// protect makes the files those that the user may only read, and unprotect gives them back.
func (u *readOnly) protect() {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(u.path+suffix, u.modes[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			u.t.Fatal(err)
		}
	}
	must(u.t, os.Chmod(u.dir, u.modes[1]))
}

func (u *readOnly) unprotect() {
	must(u.t, os.Chmod(u.dir, 0o755))
	must(u.t, os.Chmod(u.path, 0o644))
}

func (u *readOnly) open() store.Log {
	u.t.Helper()
	log, err := sqlite.Open(u.t.Context(), u.path, false)
	must(u.t, err)
	u.t.Cleanup(func() { log.Close() })
	return log
}

func (u *readOnly) append(log store.Log, position int64) {
	u.t.Helper()
	_, err := log.Append(u.t.Context(), store.Key{Thread: "t"}, position-1, []store.Entry{{Stream: "new", Kind: store.Event, Data: []byte("{}")}})
	must(u.t, err)
}

func (u *readOnly) list() string {
	names, err := filepath.Glob(filepath.Join(u.dir, "*"))
	must(u.t, err)
	return strings.Join(names, " ")
}

// A user is a process that uses the log.
type user struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

func (u *readOnly) start(do string) *user {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), u.program, "-test.run", "^TestSQLiteReadOnly$")
	cmd.Dir = filepath.Dir(u.program)
	cmd.Env = append(os.Environ(), reads+"="+do+" in "+u.path)
	cmd.Stderr = os.Stderr
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	in, err := cmd.StdinPipe()
	must(u.t, err)
	out, err := cmd.StdoutPipe()
	must(u.t, err)
	must(u.t, cmd.Start())
	wait := sync.OnceValue(cmd.Wait)
	u.t.Cleanup(func() { in.Close(); wait() })
	return &user{u.t, in, bufio.NewReader(out), wait}
}

// say sends a line to the process.
func (p *user) say() {
	_, err := fmt.Fprintln(p.in)
	must(p.t, err)
}

// line reads a line.
func (p *user) line(want string) {
	p.t.Helper()
	if got, err := p.out.ReadString('\n'); got != want+"\n" || err != nil {
		p.t.Fatalf("the user gets %q, %v, want %q", got, err, want)
	}
}

// want compares everything that the process still writes, and waits for it.
func (p *user) want(text string) {
	p.t.Helper()
	var got strings.Builder
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("after %q: %v", got.String(), err)
		}
		if line == "end\n" {
			break
		}
		got.WriteString(line)
	}
	io.Copy(io.Discard, p.out)
	must(p.t, p.wait())
	if got.String() != text {
		p.t.Errorf("the user gets\n%swant\n%s", got.String(), text)
	}
}
