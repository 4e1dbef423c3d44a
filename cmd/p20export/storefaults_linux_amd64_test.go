package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// storeCommand is a command that changes a store of captures.
type storeCommand struct {
	before string // the store to change a copy of
	args   func(store string) []string
	// acknowledged returns what the output promises, as the judge expects it.
	acknowledged func(output string) []string
	// check checks a store. If done, the command has completed its work. It returns what is
	// wrong, or "".
	check func(t *testing.T, store string, done bool) string
}

// changing returns the commands that change stores.
func changing(t *testing.T) map[string]storeCommand {
	t.Helper()
	dir := realTemp(t)
	unfinished := crashed(t, filepath.Join(dir, "crashed"))
	frozen, pruned := filepath.Join(dir, "frozen"), filepath.Join(dir, "pruned")
	for _, name := range []string{"one-turn", "unicode", "refused"} {
		testkit.CopyDir(t, filepath.Join(pruned, name), filepath.Join("../../discovery/captures/adk", name))
	}
	trace(t, render.Done, "freeze", filepath.Join(pruned, "one-turn"), filepath.Join(pruned, "unicode"), "-o", frozen)
	evidence := files(t, frozen)
	testkit.Write(t, filepath.Join(pruned, "set-aside/response.sse.unfinished"), "data: 1\n\n")
	kept := files(t, filepath.Join(pruned, "refused"))
	return map[string]storeCommand{
		"recover": {
			before:       unfinished,
			args:         func(store string) []string { return []string{"recover", store, "--format", "json"} },
			acknowledged: recoveredCaptures,
			check:        func(t *testing.T, store string, done bool) string { return checkRecovered(t, unfinished, store, done) },
		},
		"prune": {
			before: pruned,
			args: func(store string) []string {
				return []string{"prune", store, "--older-than", "0s", "--frozen-in", frozen, "--unfinished", "--format", "json"}
			},
			acknowledged: func(string) []string { return []string{"refused"} },
			check: func(t *testing.T, store string, done bool) string {
				switch {
				case !maps.Equal(files(t, filepath.Join(store, "refused")), kept):
					return "the unfrozen capture has changed"
				case !maps.Equal(files(t, frozen), evidence):
					return "the evidence has changed"
				case done && len(files(t, store)) != len(kept)+1:
					return "not everything is removed"
				}
				return ""
			},
		},
	}
}

// crashed returns a store with a whole capture, and with captures of proxies that were
// killed when a capture was created, in the middle of a response, and before its end.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	a := newUpstream(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	all := filepath.Join(dir, "all")
	for i, stop := range []func(c testkit.Call) bool{
		func(c testkit.Call) bool { return c.Name == "flock" && strings.HasSuffix(c.Path, "/capture.json.tmp") },
		func(c testkit.Call) bool {
			return c.Name == "write" && strings.HasSuffix(c.Path, "/response.sse") && strings.Contains(c.Data, "RUN_FINISHED")
		},
		func(c testkit.Call) bool {
			return strings.HasPrefix(c.Name, "renameat") && strings.HasSuffix(c.Path, "/capture.json")
		},
		func(testkit.Call) bool { return false },
	} {
		store, killed := filepath.Join(dir, fmt.Sprint(i)), false
		r := a.proxy(t, a.proxyArguments(store, "--sync", "each"), func(_ int, c testkit.Call) testkit.Fault {
			killed = killed || stop(c)
			return testkit.Fault{Kill: killed}
		}, ignoreCall)
		if killed != (i < 3) {
			t.Fatalf("proxy %d: %+v", i, r)
		}
		testkit.CopyDir(t, all, store)
	}
	return all
}

// recoveredCaptures returns the captures that the rows of recover acknowledge.
func recoveredCaptures(output string) (names []string) {
	for line := range strings.Lines(output) {
		var row struct{ Type, Recovered, Digest string }
		if json.Unmarshal([]byte(line), &row) == nil && row.Type == "recovery" && row.Recovered != "" {
			names = append(names, filepath.Base(row.Recovered)+" "+row.Digest)
		}
	}
	return names
}

// checkRecovered checks that every file of the store before is there, possibly with the
// suffix .unfinished. Only the claim of a closed capture may be removed: a proxy can be
// killed when one exchange is in a response and another has just been stored. If done, there must be one new capture, with the same bytes, of each
// capture whose response had begun.
func checkRecovered(t *testing.T, before, store string, done bool) string {
	t.Helper()
	was, now, want := files(t, before), files(t, store), map[string]string{}
	for name, data := range was {
		_, closed := was[filepath.Join(filepath.Dir(name), capture.ManifestName)]
		if now[name] != data && now[name+".unfinished"] != data && !(closed && filepath.Base(name) == capture.ClaimName) {
			return name + " is lost"
		}
		if dir, file := filepath.Split(name); strings.HasPrefix(file, "response.") {
			want[filepath.Clean(dir)] = data
		}
	}
	for name, data := range now {
		dir, file := filepath.Split(name)
		dir = filepath.Clean(dir)
		if _, closed := now[filepath.Join(dir, "capture.json")]; !strings.HasPrefix(file, "response.") || !closed {
			continue
		}
		for of, response := range want {
			if dir != of && !strings.HasPrefix(dir, of+"-recovered") {
				continue
			}
			if data != response {
				return dir + " has other bytes"
			}
			delete(want, of)
		}
	}
	if done && len(want) > 0 {
		return fmt.Sprintf("not recovered: %q", slices.Sorted(maps.Keys(want)))
	}
	return ""
}

// changed is a command that ran on a copy of a store.
type changed struct {
	storeCommand
	store string
	about string
	judge *keptStores
}

// after checks the store after the command, and runs the command again.
func (c *changed) after(t *testing.T, status int, said string, acknowledged []string) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\nexit status %d, left %v\n%s", c.about, fmt.Sprintf(format, args...), status, sizes(t, c.store), said)
	}
	if status != int(render.Done) && status != int(render.Failed) && status != -1 || strings.Contains(said, "goroutine ") {
		bad("the exit status")
	}
	if why := c.check(t, c.store, status == int(render.Done)); why != "" {
		bad("%s", why)
	}
	c.judge.keep(t, c.store, keptStore{about: c.about, log: said, stored: acknowledged, recovered: status == int(render.Done)})
	again, output := ran(c.args(c.store)...)
	if why := c.check(t, c.store, true); again != int(render.Done) || why != "" {
		bad("again: %s: exit status %d: %s", why, again, output)
	}
	if status, said := ran("verify", c.store, "--captures-only"); status != int(render.Done) {
		bad("verify: exit status %d: %s", status, said)
	}
	c.judge.keep(t, c.store, keptStore{c.about + ", again", output, append(slices.Clone(acknowledged), c.acknowledged(output)...), true})
}

// usualStoreFaults are tried in every run of the tests; make faults tries all.
var usualStoreFaults = []string{"plain change EIO", "plain ENOSPC on", "plain sync EIO on", "plain half", "plain change kill", "plain link EINTR"}

// TestStoreFaults makes the file-system calls of the commands that change a store of
// captures fail, one at a time. It checks that nothing is lost and nothing only looks
// whole, and that the same command run again completes the work.
func TestStoreFaults(t *testing.T) {
	commands := changing(t)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		for _, on := range slices.Sorted(maps.Keys(fileSystems)) {
			if on == "only adding" || on == "adding named" || on == "no locks" {
				continue // these commands remove or lock files
			}
			for i, kind := range slices.Sorted(maps.Keys(faultKinds)) {
				if !isTried(on, kind, usualStoreFaults) || name == "prune" && kind == "half" {
					continue // prune writes no content
				}
				t.Run(name+" "+on+" "+kind, func(t *testing.T) {
					t.Parallel()
					dir := realTemp(t)
					judge := &keptStores{dir: filepath.Join(dir, "judged")}
					faults := 0
					for at, step := sampled(i); !t.Failed(); at += step {
						c := &changed{commands[name], filepath.Join(dir, fmt.Sprint(at)), fmt.Sprintf("call %d", at), judge}
						if !c.run(t, fileSystems[on], faultKinds[kind], at) {
							break
						}
						if err := os.RemoveAll(c.store); err != nil {
							t.Fatal(err)
						}
						faults++
					}
					t.Logf("%d faults", faults)
					if faults == 0 && !*allFaults {
						t.Error("no call failed")
					}
					judge.check(t)
				})
			}
		}
	}
}

// run runs the command with a fault on a copy of the store. It reports whether the command
// made enough calls to reach the fault.
func (c *changed) run(t *testing.T, on fileSystem, kind faultKind, at int) bool {
	t.Helper()
	testkit.CopyDir(t, c.store, c.before)
	n := 0
	status, said := testkit.Inject(t, program(t, c.args(c.store)...), c.store, on.failing(kind, at, &n))
	c.after(t, status, said, c.acknowledged(said))
	return n >= at
}

// TestStorePowerLoss checks what a loss of power at any call of the commands that change a
// store of captures would leave.
func TestStorePowerLoss(t *testing.T) {
	var cases atomic.Int64
	t.Cleanup(func() { t.Logf("%d states after a loss of power", cases.Load()) })
	for name, command := range changing(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := realTemp(t)
			store := filepath.Join(dir, "base/store")
			testkit.CopyDir(t, store, command.before)
			p := newPowerLoss(t, filepath.Join(dir, "base"), fileSystems["plain"], command.acknowledged)
			if status, said := testkit.Observe(t, program(t, command.args(store)...), p.entered, p.left); status != int(render.Done) {
				t.Fatalf("exit status %d\n%s", status, said)
			}
			judge := &keptStores{dir: filepath.Join(dir, "judged")}
			for i, s := range p.states {
				state := filepath.Join(dir, "states", fmt.Sprint(i))
				s.Write(t, state)
				c := &changed{command, filepath.Join(state, "store"), fmt.Sprintf("state %d of %d", i, len(p.states)), judge}
				c.after(t, -1, "", s.acks)
			}
			judge.check(t)
			cases.Add(int64(len(p.states)))
		})
	}
}
