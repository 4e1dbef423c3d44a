//go:build seals

package seal_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// litewitness is the witness of filippo.io/torchwood, with an ssh-agent that has its key.
type litewitness struct {
	dir, address string
	programs     string
	key          string // its fingerprint
	running      *process
}

func newLitewitness(t testing.TB) *litewitness {
	t.Helper()
	programs := os.Getenv("P20EXPORT_WITNESS")
	if programs == "" {
		t.Fatal("P20EXPORT_WITNESS is not set; use make seals")
	}
	dir, err := os.MkdirTemp("", "witness") // the paths of sockets are limited to 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &litewitness{dir: dir, programs: programs, address: testkit.FreeAddress(t)}
	agent := w.start(t, "ssh-agent", "-D", "-a", w.path("agent"))
	agent.await(t, "unix", w.path("agent"))
	w.command(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", w.path("key"))
	w.command(t, "ssh-add", "-q", w.path("key"))
	w.key = strings.Fields(w.command(t, "ssh-keygen", "-l", "-f", w.path("key")))[1]
	w.run(t)
	return w
}

func (w *litewitness) path(name string) string { return filepath.Join(w.dir, name) }

// run starts the witness.
func (w *litewitness) run(t testing.TB) {
	t.Helper()
	w.running = w.start(t, filepath.Join(w.programs, "litewitness"), "-name", "witness.example/w", "-db", w.path("db"), "-ssh-agent", w.path("agent"), "-key", w.key, "-listen", w.address)
	w.running.await(t, "tcp", w.address)
}

// stop ends the witness as its operator would.
func (w *litewitness) stop() {
	w.running.cmd.Process.Signal(os.Interrupt)
	<-w.running.ended
}

// verifier returns the key that the witness prints when it starts.
func (w *litewitness) verifier(t testing.TB) note.Verifier {
	t.Helper()
	printed := testkit.Read(t, w.running.output.Name())
	match := regexp.MustCompile(`vkey=(\S+)`).FindSubmatch(printed)
	if match == nil {
		t.Fatalf("litewitness prints no key:\n%s", printed)
	}
	v, err := seal.ParseWitness(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// add makes the witness accept checkpoints of a thread, as witnessctl does. That program is not
// built, because modules that only its other commands need cannot be had everywhere.
func (w *litewitness) add(t testing.TB, o *operator, key store.Key) {
	t.Helper()
	origin := seal.OriginOf(o.Name, key)
	vkey, err := seal.VerifierKey(origin, o.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	empty := sha256.Sum256(nil)
	execute(t, w.path("db"), "INSERT INTO log (origin, tree_size, tree_hash) VALUES ($1, 0, $2)", origin, base64.StdEncoding.EncodeToString(empty[:]))
	execute(t, w.path("db"), "INSERT INTO key (origin, key) VALUES ($1, $2)", origin, vkey)
}

// environment has the socket of the agent.
func (w *litewitness) environment() []string {
	return append(os.Environ(), "SSH_AUTH_SOCK="+w.path("agent"))
}

// command runs a program, and returns what it prints.
func (w *litewitness) command(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = w.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// process is a program that runs until it is stopped or the test ends.
type process struct {
	cmd    *exec.Cmd
	output *os.File
	ended  chan struct{}
}

func (w *litewitness) start(t testing.TB, name string, args ...string) *process {
	t.Helper()
	output, err := os.CreateTemp(w.dir, "output")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{exec.Command(name, args...), output, make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = w.environment(), output, output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		output.Close()
	})
	return p
}

// await waits until the program accepts connections.
func (p *process) await(t testing.TB, network, address string) {
	t.Helper()
	for {
		if conn, err := net.Dial(network, address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-p.ended:
			t.Fatalf("%s has ended:\n%s", p.cmd.Path, testkit.Read(t, p.output.Name()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestSealsWitness lets a real witness cosign the seals of a thread, and refuse others.
func TestSealsWitness(t *testing.T) {
	t.Parallel()
	w, o := newLitewitness(t), newOperator(t)
	log := memory.New()
	o.Witnesses, o.WitnessKeys = []string{"http://" + w.address}, []note.Verifier{w.verifier(t)}
	appendAll(t, log, thread, events("a", 5))
	o.refused(t, log, "or its origin (status 403)")
	w.add(t, o, thread)
	var handedOut []store.Seal
	cosigned := func() {
		t.Helper()
		s := o.sealed(t, log, thread)
		if !s.New || len(s.Cosigners) != 1 || s.Cosigners[0] != "witness.example/w" {
			t.Errorf("the seal of %d entries is cosigned by %v", s.Seal.Size, s.Cosigners)
		}
		handedOut = append(handedOut, s.Seal)
	}
	cosigned()
	for i, n := range []int{1, 2, 300, 1000} {
		appendAll(t, log, thread, events(strings.Repeat("b", i+1), n+1))
		cosigned()
	}
	policy := o.policy
	policy.Witnesses, policy.Quorum = o.WitnessKeys, 1
	row, err := policy.Verify(t.Context(), log, thread, seal.Known{From: "a mail", Seals: handedOut})
	if err != nil || row.Verdict != seal.Unchanged || len(row.Signature.Cosigners) != 1 || len(row.Findings) > 0 {
		t.Errorf("%+v, %v", row, err)
	}

	w.stop()
	appendAll(t, log, thread, events("c", 5))
	o.refused(t, log, "connection refused")
	w.run(t)
	cosigned() // it still knows the size before
	w.stop()
	w.run(t)
	appendAll(t, log, thread, events("d", 2))
	cosigned()

	// Another log with the same key has a part of the thread, the same entries, or others.
	entries := readAll(t, log, thread)
	for _, tt := range []struct {
		name string
		log  store.Log
		says string
	}{
		{"fewer entries", copyOf(t, entries[:100], nil), "it has cosigned 1319 entries"},
		{"other entries", copyOf(t, entries, func(e *store.Entry) { e.Data = []byte("x") }), "are not those that it has cosigned"},
	} {
		if tt.name == "other entries" {
			appendAll(t, tt.log, thread, events("e", 3))
		}
		o.refused(t, tt.log, tt.says)
		if th, err := tt.log.Thread(t.Context(), thread); err != nil || th.Sealed != 0 {
			t.Errorf("%s: %+v, %v", tt.name, th, err)
		}
	}
	same := copyOf(t, entries, nil) // imported, without its seals
	if s := o.sealed(t, same, thread); len(s.Cosigners) != 1 {
		t.Errorf("imported: %v", s.Cosigners)
	}
	other := newOperator(t)
	other.Witnesses, other.WitnessKeys = o.Witnesses, o.WitnessKeys
	other.refused(t, copyOf(t, entries, nil), "does not know the verifier key")
	if row := o.verify(t, log, thread, seal.Known{From: "a mail", Seals: handedOut}); row.Verdict != seal.Unchanged {
		t.Errorf("%+v", row)
	}
}

// copyOf returns a log with the entries of a thread. The 50th is changed.
func copyOf(t testing.TB, entries []*store.Entry, change func(*store.Entry)) store.Log {
	t.Helper()
	var all []store.Entry
	for i, e := range clones(entries) {
		if i == 49 && change != nil {
			change(e)
		}
		all = append(all, *e)
	}
	log := memory.New()
	appendAll(t, log, thread, all)
	return log
}

// TestSealsSlowWitness waits for a witness that never answers.
func TestSealsSlowWitness(t *testing.T) {
	t.Parallel()
	o, log := newOperator(t), memory.New()
	appendAll(t, log, thread, events("a", 5))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	o.Witnesses, o.WitnessKeys = []string{server.URL}, []note.Verifier{newCosigner(t, "witness.example").verifier}
	o.refused(t, log, "did not answer within")
}
