package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// upstream is an agent that sends each part of a response when the client has read the
// part before.
type upstream struct {
	*httptest.Server
	read chan struct{} // has a value for each part that the client of the request has read
}

// response is a response of an agent.
type response struct {
	status    int
	mediaType string
	parts     []string
}

// responses are the responses of an agent, in the order of the requests.
var responses = []response{
	{http.StatusOK, "text/event-stream", []string{
		testkit.SSE(testkit.Started), testkit.SSE(strings.Split(testkit.Message, "\n")...), testkit.SSE(testkit.Snapshot, testkit.Finished),
	}},
	{http.StatusBadRequest, "application/json", []string{`{"detail":"no such agent"}`}},
}

func (r response) body() string { return strings.Join(r.parts, "") }

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	a := new(upstream)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read := a.read
		_, _ = io.Copy(io.Discard, r.Body)
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		w.Header().Set("Content-Type", responses[n].mediaType)
		w.WriteHeader(responses[n].status)
		for i, part := range responses[n].parts {
			if i > 0 {
				select {
				case <-read:
				case <-r.Context().Done():
					return
				}
			}
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// talk sends a request for each response to a proxy before the agent, and returns the
// number of responses that arrived complete.
func (a *upstream) talk(t *testing.T, address string) (complete int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for n, want := range responses {
		got, err := a.request(client, fmt.Sprintf("http://%s/%d", address, n), want)
		if err == nil && got == want.body() {
			complete++
		}
	}
	return complete
}

// request returns the body of a response, which has the status and parts of want.
func (a *upstream) request(client *http.Client, url string, want response) (string, error) {
	a.read = make(chan struct{}, len(want.parts))
	res, err := client.Post(url, "application/json", strings.NewReader(`{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[]}`))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != want.status {
		return "", errors.New(res.Status)
	}
	var got strings.Builder
	for i, part := range want.parts {
		if i > 0 {
			a.read <- struct{}{}
		}
		if _, err := io.CopyN(&got, res.Body, int64(len(part))); err != nil {
			return "", err
		}
	}
	_, err = io.Copy(&got, res.Body)
	return got.String(), err
}

// proxied is what a proxy has done.
type proxied struct {
	status   int
	log      string
	listened bool
	complete int      // number of complete responses that the client got
	stored   []string // the acknowledged captures, as the judge expects them
	ended    int      // number of recorded exchanges in the log
}

// proxyArguments are the arguments of a proxy that stores in a directory.
func (a *upstream) proxyArguments(dir string, more ...string) []string {
	return append([]string{"proxy", "--listen", "127.0.0.1:0", "--upstream", a.URL, "--captures", dir, "--log-format", "json"}, more...)
}

// logLine is a line of the log of a proxy.
type logLine struct{ Msg, Address, Capture, Digest string }

// stored returns the captures that a log acknowledges.
func stored(log string) (names []string) {
	for line := range strings.Lines(log) {
		var l logLine
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "exchange stored" {
			names = append(names, l.Capture+" "+l.Digest)
		}
	}
	return names
}

// proxy runs a proxy under a tracer, talks to the agent through it, and stops it.
func (a *upstream) proxy(t *testing.T, args []string, entered func(int, testkit.Call) testkit.Fault, left func(int, testkit.Call)) proxied {
	t.Helper()
	listening := make(chan string, 1)
	p := testkit.Start(t, program(t, args...), func(line string) {
		var l logLine
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "listening" {
			listening <- l.Address
		}
	}, entered, left)
	var r proxied
	select {
	case address := <-listening:
		r.listened = true
		r.complete = a.talk(t, address)
		p.Signal(t, syscall.SIGTERM)
	case <-p.Done():
	}
	r.status, r.log = p.Wait(t)
	r.stored = stored(r.log)
	r.ended = len(r.stored) + strings.Count(r.log, `"msg":"exchange not stored"`)
	return r
}

func noFault(int, testkit.Call) testkit.Fault { return testkit.Fault{} }

func ignoreCall(int, testkit.Call) {}

// usualProxyFaults are tried in every run of the tests; make faults tries all.
var usualProxyFaults = []string{"plain change EIO", "plain ENOSPC on", "plain half", "plain change kill", "plain sync EIO on"}

// proxyModes are the arguments with which proxies are tested.
var proxyModes = map[string][]string{
	"end":  nil,
	"each": {"--sync", "each"},
	"fail": {"--on-store-failure", "fail"},
}

// TestProxyFaults makes the file-system calls of a proxy for its store fail, one at a
// time. It checks that the client still gets every byte, that everything that the log
// calls stored is whole, that nothing else looks whole, and that the next proxy or
// recover completes the work.
func TestProxyFaults(t *testing.T) {
	var cases atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d faults", cases.Load())
		if !t.Failed() && cases.Load() < 50 {
			t.Errorf("only %d faults", cases.Load())
		}
	})
	for _, mode := range slices.Sorted(maps.Keys(proxyModes)) {
		for _, on := range []string{"plain", "links", "only adding"} {
			for i, kind := range slices.Sorted(maps.Keys(faultKinds)) {
				if !isTried(on, kind, usualProxyFaults) || !*allFaults && mode != "end" {
					continue
				}
				t.Run(mode+" "+on+" "+kind, func(t *testing.T) {
					t.Parallel()
					dir, a := realTemp(t), newUpstream(t)
					judge := &keptStores{dir: filepath.Join(dir, "judged"), response: checkResponse}
					defer judge.check(t)
					for at, step := sampled(i); ; at += step {
						f := &faultyProxy{agent: a, store: filepath.Join(dir, fmt.Sprint(at), "store"), mode: proxyModes[mode], judge: judge, about: fmt.Sprintf("call %d", at)}
						if !f.run(t, fileSystems[on], faultKinds[kind], at) {
							break
						}
						if err := os.RemoveAll(filepath.Dir(f.store)); err != nil {
							t.Fatal(err)
						}
						cases.Add(1)
						if t.Failed() {
							break
						}
					}
				})
			}
		}
	}
}

// A proxy starts on a full disk, passes the traffic on, and says what is wrong.
func TestProxyFullAtStart(t *testing.T) {
	t.Parallel()
	store, a, n := realTemp(t), newUpstream(t), 0
	full := faultKind{Fault: testkit.Fault{Err: syscall.ENOSPC}, of: changeCalls, changes: true, on: true}
	fails := fileSystems["plain"].failing(full, 1, &n)
	r := a.proxy(t, a.proxyArguments(store), func(_ int, c testkit.Call) testkit.Fault {
		if c.Path != store && !strings.HasPrefix(c.Path, store+"/") {
			return testkit.Fault{}
		}
		return fails(c)
	}, ignoreCall)
	if r.status != int(render.Done) || r.complete != len(responses) || len(r.stored) != 0 || r.ended != len(responses) {
		t.Errorf("%+v", r)
	}
	if before, _, _ := strings.Cut(r.log, `"msg":"listening"`); !strings.Contains(before, "the store cannot be written") {
		t.Error(r.log)
	}
}

// A directory of captures that fails is not a mistake on the command line.
func TestProxyBrokenAtStart(t *testing.T) {
	t.Parallel()
	store, a := realTemp(t), newUpstream(t)
	r := a.proxy(t, a.proxyArguments(store), func(_ int, c testkit.Call) testkit.Fault {
		if !strings.HasPrefix(c.Path, store+"/") {
			return testkit.Fault{}
		}
		return testkit.Fault{Err: syscall.EIO}
	}, ignoreCall)
	const next = "next: name a directory that p20export may create or write to"
	if r.status != int(render.Failed) || !strings.Contains(r.log, "cannot serve: --captures: cannot read "+store+"/") || !strings.Contains(r.log, next) || strings.Contains(r.log, "--help") {
		t.Errorf("exit status %d\n%s", r.status, r.log)
	}
}

// faultyProxy is a proxy that runs with a fault.
type faultyProxy struct {
	agent *upstream
	store string
	mode  []string
	about string
	judge *keptStores

	proxied
}

// run runs the proxy with a fault, checks what it leaves, and completes the work. It
// reports whether the proxy made enough calls to reach the fault.
func (f *faultyProxy) run(t *testing.T, on fileSystem, kind faultKind, at int) bool {
	t.Helper()
	if err := os.Mkdir(filepath.Dir(f.store), 0o700); err != nil {
		t.Fatal(err)
	}
	n := 0
	fails := on.failing(kind, at, &n)
	f.proxied = f.agent.proxy(t, f.agent.proxyArguments(f.store, f.mode...), func(_ int, c testkit.Call) testkit.Fault {
		if c.Path != f.store && !strings.HasPrefix(c.Path, f.store+"/") {
			return testkit.Fault{}
		}
		return fails(c)
	}, ignoreCall)
	switch {
	case kind.Kill && n >= at:
	case f.status != int(render.Done) && f.status != int(render.Failed):
		f.bad(t, "the exit status")
	case f.listened && f.status != int(render.Done):
		f.bad(t, "it could not go on")
	case f.listened && f.complete < len(responses) && f.mode == nil:
		f.bad(t, "the client got %d of %d responses", f.complete, len(responses))
	case f.listened && f.ended != len(responses):
		f.bad(t, "%d exchanges are in the log", f.ended)
	case n < at && len(f.stored) != len(responses):
		f.bad(t, "without a fault, %d exchanges are stored", len(f.stored))
	}
	if strings.Contains(f.log, "goroutine ") {
		f.bad(t, "it panicked")
	}
	f.keep(t, false)
	if _, err := os.Stat(f.store); err == nil && at%2 == 0 {
		if status, said := ran("recover", f.store); status != int(render.Done) {
			f.bad(t, "recover: exit status %d: %s", status, said)
		}
		f.keep(t, true)
	}
	again := f.agent.proxy(t, f.agent.proxyArguments(f.store, f.mode...), noFault, ignoreCall)
	if again.status != int(render.Done) || again.complete < len(responses) || len(again.stored) < len(responses) {
		f.bad(t, "again: %+v", again)
	}
	f.stored = append(f.stored, again.stored...)
	f.keep(t, true)
	return n >= at
}

func (f *faultyProxy) bad(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf("%s: %s\nexit status %d, left %v\n%s", f.about, fmt.Sprintf(format, args...), f.status, sizes(t, f.store), f.log)
}

// keep keeps a copy of the store for the judge. If recovered, nothing in it may be
// unfinished.
func (f *faultyProxy) keep(t *testing.T, recovered bool) {
	t.Helper()
	if _, err := os.Stat(f.store); os.IsNotExist(err) && len(f.stored) == 0 {
		return
	}
	if recovered {
		status, said := ran("verify", f.store, "--captures-only")
		if status != int(render.Done) && !(len(f.stored) == 0 && strings.Contains(said, "nothing_verified")) {
			f.bad(t, "verify: exit status %d: %s", status, said)
		}
	}
	f.judge.keep(t, f.store, keptStore{f.about, f.log, f.stored, recovered})
}

// keptStores are copies of stores, which the independent judge judges together: it takes
// long to start.
type keptStores struct {
	dir    string
	stores []keptStore
	// response checks a whole capture, if it is not nil. It returns what is wrong, or "".
	response func(t *testing.T, capture string) string
}

// keptStore describes a copy of a store.
type keptStore struct {
	about, log string
	stored     []string // the acknowledged captures
	recovered  bool     // nothing may be unfinished
}

// keep copies a store.
func (k *keptStores) keep(t *testing.T, store string, s keptStore) {
	t.Helper()
	testkit.CopyDir(t, filepath.Join(k.dir, fmt.Sprint(len(k.stores))), store)
	k.stores = append(k.stores, s)
}

// check checks the copies.
func (k *keptStores) check(t *testing.T) {
	t.Helper()
	var acknowledged []string
	for i, s := range k.stores {
		for _, name := range s.stored {
			acknowledged = append(acknowledged, fmt.Sprintf("%d/%s", i, name))
		}
	}
	rows, _ := judgeStore(t, k.dir, acknowledged...)
	whole := 0
	for _, row := range rows {
		number, name, _ := strings.Cut(row.Path, "/")
		i, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%+v", row)
		}
		s, why := k.stores[i], ""
		switch row.State {
		case "whole":
			whole++
			if k.response != nil {
				why = k.response(t, filepath.Join(k.dir, row.Path))
			}
		case "broken", "lost":
			why = fmt.Sprint(row.State, row.Problems)
		case "unfinished":
			if s.recovered {
				why = "is unfinished"
			}
		}
		if why != "" {
			t.Errorf("%s: %s %s\nleft %v\n%s", s.about, name, why, sizes(t, filepath.Join(k.dir, number)), s.log)
		}
	}
	if whole == 0 {
		t.Errorf("the judge found no whole capture: %+v", rows)
	}
}

// sizes returns the sizes of the files of a directory by name.
func sizes(t *testing.T, dir string) map[string]int {
	t.Helper()
	sizes := map[string]int{}
	for name, data := range files(t, dir) {
		sizes[name] = len(data)
	}
	return sizes
}

// checkResponse checks that a capture has the first bytes of a response of the agent, and
// all if it says so. It returns what is wrong, or "".
func checkResponse(t *testing.T, capture string) string {
	t.Helper()
	return checkContents(files(t, capture))
}

// checkContents is checkResponse for the content of the files.
func checkContents(all map[string]string) string {
	got := all["response.sse"] + all["response.json"]
	for _, want := range responses {
		if strings.HasPrefix(want.body(), got) {
			if got != want.body() && strings.Contains(all["capture.json"], `"end": "eof"`) {
				return "lacks a part of the response"
			}
			return ""
		}
	}
	return fmt.Sprintf("has another response: %.100q", got)
}
