package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// childDir is the environment variable with the directory in which this test binary
// recovers or writes the capture "c", instead of running the tests.
const childDir = "P20EXPORT_CAPTURE_TEST_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := children[os.Args[1]](dir); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
	os.Exit(0)
}

// children are the programs of this test binary.
var children = map[string]func(dir string) error{
	"recover": func(dir string) error {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		_, err = Recover(context.Background(), root, "c", recoverTool)
		return err
	},
	"write": func(dir string) error {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		w, err := CreateIn(root, "c", Settings{Source: Source{Kind: KindProxy, URL: "http://h/"}, Framing: NDJSON, StartedAt: testStart, Tool: testTool, Arrivals: true, Labels: map[string]string{"a": "1"}})
		if err != nil {
			return err
		}
		size := 0
		for i, end := range readEnds {
			if _, err := w.WriteArrived([]byte(childResponse[size:end]), []Arrival{{end - size, testStart.Add(time.Duration(readTimes[i]) * time.Microsecond)}}); err != nil {
				return err
			}
			size = end
			fmt.Println("written", end)
			if i == 1 {
				if err := errors.Join(w.SetRequest([]byte(`{"x":1}`)), w.Sync()); err != nil {
					return err
				}
				fmt.Println("request")
			}
		}
		_, err = w.Close(EndEOF)
		return err
	},
}

// childResponse is what the program "write" writes.
const childResponse = "{}\n" + `{"a"` + ":1}\n" + "[]"

// child returns the command that runs a program of this test binary.
func child(t *testing.T, program, dir string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, program)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	return cmd
}

// faultsOf are the faults that are tried at every call of a program.
var faultsOf = map[string]testkit.Fault{
	"kill":  {Kill: true},
	"EIO":   {Err: syscall.EIO},
	"short": {Short: true},
}

// everyFault runs a program with each fault at each of its file-system calls. It calls
// prepare before and check after it, with the directory and what the program said.
func everyFault(t *testing.T, program string, prepare func(t *testing.T, root *os.Root), check func(t *testing.T, root *os.Root, said string)) {
	for name, fault := range faultsOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := 1
			for done := false; !done; at++ {
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				root := openRoot(t, dir)
				prepare(t, root)
				calls := 0
				_, said := testkit.Inject(t, child(t, program, dir), dir, func(c testkit.Call) testkit.Fault {
					if fault.Short && c.Name != "write" {
						return testkit.Fault{}
					}
					if calls++; calls == at {
						return fault
					}
					return testkit.Fault{}
				})
				done = calls < at
				if done && !strings.HasSuffix(strings.TrimSpace(said), "done") {
					t.Errorf("without a fault: %s", said)
				}
				check(t, root, said)
				if t.Failed() {
					t.Fatalf("fault at call %d; the program said:\n%s", at, said)
				}
				root.Close()
			}
			t.Logf("%d faults", at-2)
			if at < 30 && !fault.Short {
				t.Errorf("only %d faults", at-2)
			}
		})
	}
}

// recoverAll recovers every unfinished capture in root, and returns the closed captures
// and the number of bytes without a time of arrival. All captures must be whole.
func recoverAll(t *testing.T, root *os.Root) (closed []string, lost int64) {
	t.Helper()
	for d, err := range Directories(t.Context(), root.Name()) {
		if err != nil || d.Err != nil {
			t.Fatal(err, d.Err)
		}
		if d.State == Unfinished {
			got, err := Recover(t.Context(), root, d.Rel, recoverTool)
			if err != nil {
				t.Fatalf("recovering %s: %v", d.Rel, err)
			}
			lost += got.Lost
		}
	}
	for d, err := range Directories(t.Context(), root.Name()) {
		if err != nil || d.Err != nil {
			t.Fatal(err, d.Err)
		}
		switch d.State {
		case Closed:
			closed = append(closed, d.Rel)
			if _, err := Check(t.Context(), d.Path); err != nil {
				t.Errorf("%s: %v", d.Rel, err)
			}
		case Unfinished:
			t.Errorf("%s is unfinished", d.Rel)
		}
	}
	return closed, lost
}

// Wherever Recover is killed or fails, another call completes its work, and nothing is
// lost.
func TestRecoverFaults(t *testing.T) {
	whole := interrupted(t, nil)
	whole.response += "lost"
	whole.arrivals = whole.arrivals[:len(whole.arrivals)-1] // torn
	everyFault(t, "recover", func(t *testing.T, root *os.Root) {
		whole.lay(t, root, "c")
	}, func(t *testing.T, root *os.Root, said string) {
		closed, _ := recoverAll(t, root)
		whole.checkRemainder(t, root, "c")
		if len(closed) != 1 {
			t.Fatalf("closed captures: %v", closed)
		}
		got := testkit.Contents(t, filepath.Join(root.Name(), closed[0]))
		delete(got, ManifestName)
		delete(got, ClaimName) // Close did not remove it
		response, arrivals, _ := whole.expected()
		if diff := cmp.Diff(map[string]string{"response.ndjson": response, ArrivalsName: arrivals, RequestName: whole.request}, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})
}

// Wherever a program that writes a capture is killed or fails, Recover keeps everything
// that it had written.
func TestWriterFaults(t *testing.T) {
	everyFault(t, "write", func(*testing.T, *os.Root) {}, func(t *testing.T, root *os.Root, said string) {
		closed, lost := recoverAll(t, root)
		if lost != 0 {
			t.Errorf("%d bytes have no time of arrival", lost)
		}
		written := 0
		for line := range strings.Lines(said) {
			fmt.Sscanf(line, "written %d", &written)
		}
		if len(closed) == 0 && written == 0 {
			return
		}
		if len(closed) != 1 {
			t.Fatalf("closed captures: %v", closed)
		}
		c, err := Open(t.Context(), filepath.Join(root.Name(), closed[0]), "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		frames, err := readAll(t, c)
		if err != io.EOF {
			t.Error(err)
		}
		for _, f := range frames {
			if f.Arrived.IsZero() {
				t.Errorf("frame %d has no time of arrival", f.Index)
			}
		}
		files := testkit.Contents(t, filepath.Join(root.Name(), closed[0]))
		if response := files["response.ndjson"]; len(response) < written || !strings.HasPrefix(childResponse, response) {
			t.Errorf("response %q, written %d", response, written)
		}
		if strings.Contains(said, "request\n") && files[RequestName] != `{"x":1}` {
			t.Errorf("request %q", files[RequestName])
		}
		if strings.HasSuffix(strings.TrimSpace(said), "done") && closed[0] != "c" {
			t.Error("the capture was closed, but is now unfinished")
		}
	})
}

// On a file system without locks captures are written, but not recovered, because nobody
// can tell whether they are being written.
func TestNoLocks(t *testing.T) {
	noLocks := func(c testkit.Call) testkit.Fault {
		if c.Name == "flock" {
			return testkit.Fault{Err: syscall.ENOLCK}
		}
		return testkit.Fault{}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, said := testkit.Inject(t, child(t, "write", dir), dir, noLocks); !strings.HasSuffix(strings.TrimSpace(said), "done") {
		t.Errorf("writing: %s", said)
	}
	if dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	interrupted(t, nil).lay(t, openRoot(t, dir), "c")
	before := testkit.Contents(t, dir)
	status, said := testkit.Inject(t, child(t, "recover", dir), dir, noLocks)
	if status != 1 || !strings.Contains(said, "c: the file system has no locks (no locks available), so it is not known") {
		t.Errorf("status %d: %s", status, said)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("files were changed:\n%s", diff)
	}
	if err := error(&noLocksError{"c", syscall.ENOLCK}); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, syscall.ENOLCK) {
		t.Error("the error does not match")
	}
}
