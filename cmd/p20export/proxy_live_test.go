//go:build live && client

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// TestProxyLive lets the reference client run every scenario with the real ADK middleware,
// once directly and once with proxy between them. The client has the same events, messages,
// state and errors, ids and times aside. Each exchange becomes a capture, which freezes to
// the same messages as the committed capture, which was recorded without proxy. At last, the
// client runs every scenario with replay instead of the middleware, and has exactly what it
// had through proxy.
func TestProxyLive(t *testing.T) {
	of := loadHarnesses(t)
	adk := of[slices.IndexFunc(of, func(h harness) bool { return h.Name == "adk" })]

	direct := runningHarness(t, adk)
	behind := runningHarness(t, adk)
	store, frozen := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "frozen")
	proxy := startProgram(t, "proxy", "--listen", "127.0.0.1:0", "--upstream", behind, "--captures", store, "--freeze", frozen, "--label", "integration=adk")

	one, other := judge.Start(t), judge.Start(t)
	events, recorded := 0, map[string]judge.Run{}
	for _, s := range adk.list.Scenarios {
		input := string(s.Request)
		done := make(chan judge.Run)
		go func() { done <- one.Post(direct+s.Path, input) }()
		got := other.Post(proxy.url+s.Path, input)
		want := <-done
		events += len(want.Events)
		recorded[s.Name] = got
		if diff := cmp.Diff(stripped(want), stripped(got)); diff != "" {
			t.Errorf("%s (-direct +proxied):\n%s", s.Name, diff)
		}
	}
	if events < 500 {
		t.Errorf("only %d events were seen", events)
	}
	proxy.stop(t)

	captures, err := filepath.Glob(filepath.Join(store, "*", capture.ManifestName))
	if err != nil || len(captures) != len(adk.list.Scenarios) {
		t.Fatalf("%d captures of %d exchanges (%v)", len(captures), len(adk.list.Scenarios), err)
	}
	runs := 0
	for i, s := range adk.list.Scenarios { // the names of captures are in the order of time
		dir := filepath.Dir(captures[i])
		if got := testkit.Read(t, filepath.Join(dir, capture.RequestName)); string(got) != string(s.Request) {
			t.Errorf("%s: the recorded request is %s", s.Name, got)
		}
		committed := filepath.Join(adk.captures, s.Name)
		for _, projection := range project.Names() {
			want, got := freezeMessages(t, committed, projection), freezeMessages(t, dir, projection)
			runs += len(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s under %s (-committed +proxied):\n%s", s.Name, projection, diff)
			}
		}
	}
	if runs < 40 {
		t.Errorf("only %d results were compared", runs)
	}

	var out bytes.Buffer
	if status := run([]string{"verify", store, "--captures-only"}, &out, &out); status != exitDone {
		t.Errorf("verify the store: exit status %d\n%s", status, out.String())
	}
	if status := run([]string{"verify", frozen, "--capture", store}, &out, &out); status != exitDone {
		t.Errorf("verify what proxy froze: exit status %d\n%s", status, out.String())
	}

	replay := startProgram(t, "replay", store, "--listen", "127.0.0.1:0", "--speed", "0")
	for _, s := range adk.list.Scenarios {
		got := one.Post(replay.url+s.Path, string(s.Request))
		if diff := cmp.Diff(recorded[s.Name], got); diff != "" {
			t.Errorf("%s (-recorded +replayed):\n%s", s.Name, diff)
		}
	}
	replay.stop(t)
	t.Logf("%d exchanges, %d events, %d frozen results", len(captures), events, runs)
}

// serving is a command of this program that serves.
type serving struct {
	url string
	cmd *exec.Cmd
	log bytes.Buffer // complete when the command has ended
	end chan struct{}
}

// startProgram starts a command in a process of its own and waits until it listens.
func startProgram(t *testing.T, args ...string) *serving {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p20export")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	p := &serving{cmd: exec.Command(path, append(args, "--log-format", "json")...), end: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.end })
	address := make(chan string, 1)
	go func() {
		defer close(p.end)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&p.log, lines.Text())
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				address <- line.Address
			}
		}
		_ = p.cmd.Wait()
	}()
	select {
	case at := <-address:
		p.url = "http://" + at
	case <-p.end:
		t.Fatalf("%v ended:\n%s", args, p.log.String())
	}
	return p
}

// stop ends the command as an operator does.
func (p *serving) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.end
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d\n%s", code, p.log.String())
	}
}

var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	timestamp = regexp.MustCompile(`"(timestamp|lastUpdateTime|_time)":[0-9.]+`)
)

// stripIDs replaces the UUIDs in texts by their number in order of appearance, and removes
// times.
func stripIDs(texts ...*string) {
	seen := map[string]string{}
	for _, text := range texts {
		*text = uuid.ReplaceAllStringFunc(*text, func(id string) string {
			if seen[id] == "" {
				seen[id] = fmt.Sprintf("id-%d", len(seen))
			}
			return seen[id]
		})
		*text = timestamp.ReplaceAllString(*text, `"$1":0`)
	}
}

// stripped returns a run without the ids that the agent mints, and without times.
func stripped(r judge.Run) judge.Run {
	r.Events = slices.Clone(r.Events)
	var texts []*string
	for i := range r.Events {
		texts = append(texts, &r.Events[i])
	}
	stripIDs(append(texts, &r.Messages, &r.State, &r.Error)...)
	return r
}

// freezeMessages freezes a capture and returns, for each run, the verdict and the messages.
func freezeMessages(t *testing.T, dir string, projection project.Name) (list []string) {
	t.Helper()
	out := t.TempDir()
	s := freeze.Settings{Settings: project.Settings{Projection: projection}, Dir: out, Name: "x", Tool: build.Tool()}
	rows, err := freeze.Freeze(t.Context(), dir, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		text := string(row.Verdict)
		for _, f := range row.Findings {
			text += " " + string(f.Code)
		}
		list = append(list, text)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.artifact.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		a, problems := artifact.Decode(testkit.Read(t, file), artifact.V1)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		text, err := json.Marshal(a.Messages)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	var texts []*string
	for i := range list {
		texts = append(texts, &list[i])
	}
	stripIDs(texts...)
	return list
}
