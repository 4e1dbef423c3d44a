package storetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/store"
)

// variable is the environment variable that has the job of a process.
const variable = "P20EXPORT_STORETEST_JOB"

// A Job is what another process does with a log.
type Job struct {
	// Log is the name of the log.
	Log string
	Key store.Key
	// Follow makes the process follow the thread after the position After, and write a
	// line "POSITION DATA" for each entry. Otherwise it appends, and writes a line
	// "FIRST LAST" with the positions of each batch when it has been appended.
	Follow bool
	After  int64
	// Writer is the number of the appender. The stream of its entries is "writer N". Each
	// batch is a run. See Data.
	Writer int
	// Batch is the number of entries that are appended at a time.
	Batch int
	// Entries is the number of entries to append or to follow, or 0 for no end.
	Entries int
	// Pack makes an appender pack the thread after each batch, and Seal makes it seal the
	// thread before it writes the line of the batch.
	Pack, Seal bool
	// SealUpTo, if not 0, makes the process only add a seal of each size up to it, and write a
	// line with the size of each that it has added. The checkpoints are those of Checkpoint.
	SealUpTo int64
	// Lease, if not empty, makes the process only take that lease, write a line with true or
	// false, and keep the lease until its standard input ends.
	Lease string
}

// Data returns the data of entry n of the appender's stream, from 1. Every fourth batch is large
// enough to be packed.
func (j *Job) Data(n int64) string {
	name := "CUSTOM"
	switch n % int64(j.Batch) {
	case 1:
		name = "RUN_STARTED"
	case 0:
		name = "RUN_FINISHED"
	}
	long := 0
	if batch := int64(j.Batch); n%batch == 0 && n/batch%4 == 1 {
		long = store.MinPackBytes
	}
	return fmt.Sprintf(`{"type":%q,"writer":%d,"n":%d,"long":"%0*d"}`, name, j.Writer, n, long, 0)
}

// Command returns a command that does a job in another process: this test program, whose
// TestMain calls Main.
func Command(t testing.TB, job Job) *exec.Cmd {
	t.Helper()
	return command(t.Context(), t, job)
}

func command(ctx context.Context, t testing.TB, job Job) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	return cmd
}

// Main is for the TestMain of an adapter whose logs other processes can open by name. It
// runs the tests, or the job for which the process was started.
func Main(m *testing.M, open func(name string) (store.Log, error)) {
	text := os.Getenv(variable)
	if text == "" {
		os.Exit(m.Run())
	}
	if err := work(text, open, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work does a job.
func work(text string, open func(name string) (store.Log, error), out io.Writer) error {
	var job Job
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	log, err := open(job.Log)
	if err != nil {
		return err
	}
	do := job.append
	switch {
	case job.Follow:
		do = job.follow
	case job.Lease != "":
		do = job.hold
	case job.SealUpTo > 0:
		do = job.seal
	}
	return errors.Join(do(context.Background(), log, out), log.Close())
}

// tryAgain is in the text of an error of a log that other processes have kept busy.
const tryAgain = "try again when it is done"

// append appends entries. It continues where an earlier process with the same number ended.
func (j *Job) append(ctx context.Context, log store.Log, out io.Writer) error {
	stream := fmt.Sprint("writer ", j.Writer)
	for done := 0; j.Entries == 0 || done < j.Entries; {
		t, err := log.Thread(ctx, j.Key)
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			return err
		}
		s, err := log.Stream(ctx, j.Key, stream)
		if err != nil {
			return err
		}
		for after, n := t.Last, s.Entries; j.Entries == 0 || done < j.Entries; {
			batch := make([]store.Entry, j.Batch)
			for i := range batch {
				batch[i] = event(stream, j.Data(n+int64(i)+1))
			}
			last, err := log.Append(ctx, j.Key, after, batch)
			if errors.Is(err, store.ErrConflict) {
				break // another has appended: perhaps a process that was killed
			}
			if err != nil && strings.Contains(err.Error(), tryAgain) {
				break // on a busy machine another process can always be the first to append
			}
			if err != nil {
				return err
			}
			if j.Seal {
				if err := log.Seal(ctx, j.Key, sealOf(last), store.Blocks{}); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintln(out, after+1, last); err != nil {
				return err
			}
			after, n, done = last, n+int64(len(batch)), done+len(batch)
			if j.Pack {
				if _, err := log.Pack(ctx, j.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// follow follows a thread.
func (j *Job) follow(ctx context.Context, log store.Log, out io.Writer) error {
	done := 0
	for e, err := range log.Follow(ctx, j.Key, j.After) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%d %s\n", e.Position, e.Data); err != nil {
			return err
		}
		if done++; done == j.Entries {
			return nil
		}
	}
	return nil
}

// hold holds a lease.
func (j *Job) hold(ctx context.Context, log store.Log, out io.Writer) error {
	leaser, ok := log.(store.Leaser)
	if !ok {
		return errors.New("the log has no leases")
	}
	leases, err := leaser.Leases(ctx, func(name string) { fmt.Fprintln(os.Stderr, "lost", name) })
	if err != nil {
		return err
	}
	taken, err := leases.Take(ctx, j.Lease)
	if err == nil {
		_, err = fmt.Fprintln(out, taken)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return errors.Join(err, leases.Close())
}

// processTests use the log in other processes.
func processTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"processes/one appender wins each":   processes,
		"processes/one seals each size":      sealElsewhere,
		"processes/a holder of a lease ends": func(f *fixture) { heldElsewhere(f, false) },
		"processes/a holder is killed":       func(f *fixture) { heldElsewhere(f, true) },
	}
}

// output runs a command and returns the lines of its standard output.
func output(f *fixture, cmd *exec.Cmd) []string {
	f.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		f.Errorf("another process: %v\n%s", err, stderr.Bytes())
	}
	var lines []string
	for line := range bytes.Lines(out) {
		lines = append(lines, string(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return lines
}

// processes appends to one thread from two processes, and follows it in two others, one of
// which begins in the middle.
func processes(f *fixture) {
	const each, batch = 300, 3
	k := key("t")
	f.numbered(f.log, k, 0, 1)
	var followers, appenders sync.WaitGroup
	ctx, stop := context.WithCancel(f.Context())
	defer stop()
	followed := make([][]string, 2)
	for n := range followed {
		job := Job{Log: f.name, Key: k, Follow: true, After: int64(n), Entries: 2*each + 1 - n}
		followers.Go(func() { followed[n] = output(f, command(ctx, f, job)) })
	}
	jobs := make([]Job, 2)
	won := make([][]string, len(jobs))
	for n := range jobs {
		jobs[n] = Job{Log: f.name, Key: k, Writer: n, Batch: batch, Entries: each}
		appenders.Go(func() { won[n] = output(f, Command(f, jobs[n])) })
	}
	if appenders.Wait(); f.Failed() {
		stop() // the followers would wait for ever
	}
	followers.Wait()
	var positions []int64
	for n, lines := range won {
		for _, line := range lines {
			var first, last int64
			if _, err := fmt.Sscan(line, &first, &last); err != nil || last != first+batch-1 {
				f.Fatalf("appender %d says %q", n, line)
			}
			positions = append(positions, first)
		}
	}
	slices.Sort(positions)
	for i, first := range positions {
		if first != int64(i*batch)+2 {
			f.Fatalf("batches were appended at %v", positions)
		}
	}
	entries := f.read(k, 0)
	if len(positions) != 2*each/batch || len(entries) != 2*each+1 {
		f.Fatalf("%d batches were appended, and there are %d entries", len(positions), len(entries))
	}
	next := make([]int64, len(jobs))
	var want []string
	for _, e := range entries {
		want = append(want, fmt.Sprintf("%d %s", e.Position, e.Data))
		if e.Position == 1 {
			continue
		}
		n := slices.Index([]string{"writer 0", "writer 1"}, e.Stream)
		if next[n]++; string(e.Data) != jobs[n].Data(next[n]) {
			f.Fatalf("entry %d is %q, want %q", e.Position, e.Data, jobs[n].Data(next[n]))
		}
	}
	equal(f, "what the first follower saw", followed[0], want)
	equal(f, "what the second follower saw", followed[1], want[1:])
}

// Killed kills an appender in another process so many times, each time while it appends, packs or
// seals, and starts it again. Everything that was acknowledged must be in the log, without a
// gap and without a duplicate, and batches must be whole. A follower must see all of it.
func Killed(t *testing.T, open Opener, times int) {
	const batch = 5
	f := newFixture(t, open)
	k := key("t")
	job := Job{Log: f.name, Key: k, Batch: batch}
	followed := make(chan int64, 1)
	go func() {
		position := int64(0)
		for e, err := range f.log.Follow(f.ctx, k, 0) {
			if err != nil {
				f.Errorf("Follow: %v", err)
				break
			}
			if e.Kind == store.End {
				break
			}
			position++
			f.isOf(&job, e, position)
		}
		followed <- position
	}()
	var all int64
	for n := range times {
		job := job
		job.Pack, job.Seal = n%2 == 1, n%3 > 0
		acknowledged := f.kill(Command(f, job), 1+n%5)
		entries := int64(0)
		for e, err := range f.log.Read(f.ctx, k, all) {
			if err != nil {
				f.Fatal(err)
			}
			entries++
			f.isOf(&job, e, all+entries)
		}
		if acknowledged > all+entries || (all+entries)%batch != 0 {
			f.Fatalf("%d positions were acknowledged, and the log has %d in batches of %d", acknowledged, all+entries, batch)
		}
		all += entries
		if sealed := f.seals(k, acknowledged-1); job.Seal && acknowledged > 0 && (len(sealed) == 0 || sealed[0] != acknowledged) {
			f.Fatalf("the seal of %d entries was acknowledged, and the log has those of %d", acknowledged, sealed)
		}
	}
	for {
		// What a killed appender had sent can still be appended.
		all = f.thread(k).Last
		_, err := f.log.Append(f.ctx, k, all, []store.Entry{end("the end")})
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrConflict) {
			f.Fatal(err)
		}
	}
	if n := <-followed; n != all {
		f.Errorf("the follower saw %d entries, want %d", n, all)
	}
	if t := f.thread(k); t.Runs != all/batch || times > 1 && t.Packed < batch {
		f.Errorf("the thread is %+v, want %d runs and packed entries", t, all/batch)
	}
	position := int64(0)
	for e, err := range f.log.Read(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		if position++; position <= all {
			f.isOf(&job, e, position)
		}
	}
	if position != all+1 {
		f.Errorf("%d entries, want %d", position, all+1)
	}
}

// isOf reports an error unless an entry is the one that an appender without others appends
// at a position.
func (f *fixture) isOf(j *Job, e *store.Entry, position int64) {
	f.Helper()
	if want := j.Data(position); e.Position != position || string(e.Data) != want {
		f.Errorf("entry %q is at position %d, want %q at %d", e.Data, e.Position, want, position)
	}
}

// kill starts an appender, kills it after it has acknowledged some batches, and returns the
// last position that it acknowledged.
func (f *fixture) kill(cmd *exec.Cmd, batches int) (acknowledged int64) {
	f.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); {
		var first int64
		if _, err := fmt.Sscan(lines.Text(), &first, &acknowledged); err != nil {
			f.Errorf("the appender says %q", lines.Text())
		}
		if n++; n == batches {
			if err := cmd.Process.Kill(); err != nil {
				f.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		f.Fatalf("the appender ended by itself: %v\n%s", err, stderr.Bytes())
	}
	return acknowledged
}

// heldElsewhere takes a lease that another process has, and that process ends or is killed.
func heldElsewhere(f *fixture, kill bool) {
	cmd := Command(f, Job{Log: f.name, Lease: "a"})
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	taken := false
	if _, err := fmt.Fscan(out, &taken); err != nil || !taken {
		in.Close()
		cmd.Wait()
		f.Fatalf("another process could not take the lease: %t, %v\n%s", taken, err, stderr.Bytes())
	}
	leases, err := f.leaser(f.log).Leases(f.ctx, func(name string) { f.Errorf("the lease %q is lost", name) })
	switch {
	case errors.Is(err, store.ErrLeased):
	case err != nil:
		f.Fatal(err)
	default:
		f.Cleanup(func() { f.closeLeases(leases) })
		f.takes(leases, "a", false)
		f.takes(leases, "b", true)
	}
	end := in.Close
	if kill {
		end = cmd.Process.Kill
	}
	if err := end(); err != nil {
		f.Fatal(err)
	}
	if err := cmd.Wait(); (err != nil) != kill {
		f.Errorf("the other process: %v\n%s", err, stderr.Bytes())
	}
	if leases == nil {
		leases = f.leases(f.log)
	}
	// A server needs a moment to notice that a process was killed.
	for ok := false; !ok; {
		if ok, err = leases.Take(f.ctx, "a"); err != nil {
			f.Fatal(err)
		}
	}
}
