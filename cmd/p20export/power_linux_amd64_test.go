package main

import (
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// powerLoss follows a program and keeps the states that a loss of power at any of its
// calls would leave of a directory.
type powerLoss struct {
	disk *testkit.Disk
	dir  string
	on   fileSystem
	// acknowledged returns what the program has acknowledged, from its output so far.
	acknowledged func(output string) []string

	output string
	acks   []string
	states []leftState
	seen   map[uint64]bool
}

// leftState is what a loss of power could leave, and what was acknowledged before.
type leftState struct {
	testkit.Left
	acks []string
}

func newPowerLoss(t *testing.T, dir string, on fileSystem, acknowledged func(string) []string) *powerLoss {
	return &powerLoss{disk: testkit.NewDisk(t, dir), dir: dir, on: on, acknowledged: acknowledged, seen: map[uint64]bool{}}
}

func (p *powerLoss) entered(tid int, c testkit.Call) testkit.Fault {
	p.disk.Entered(tid, c)
	if strings.HasPrefix(c.Path, p.dir) {
		return p.on.fault(c)
	}
	if c.Name == "write" && (c.FD == 1 || c.FD == 2) {
		p.output += c.Data
		if acks := p.acknowledged(p.output); len(acks) > len(p.acks) {
			p.acks = acks
			p.keep()
		}
	}
	return testkit.Fault{}
}

func (p *powerLoss) left(tid int, c testkit.Call) {
	if p.disk.Left(tid, c) {
		p.keep()
	}
}

var seed = maphash.MakeSeed()

// keep keeps the states that a loss of power could leave now, except those that it has.
func (p *powerLoss) keep() {
	for _, left := range p.disk.PowerLoss() {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, path := range slices.Sorted(maps.Keys(left)) {
			fmt.Fprintf(&h, "%q %t %q,", path, left[path] == nil, left[path])
		}
		fmt.Fprint(&h, len(p.acks))
		if sum := h.Sum64(); !p.seen[sum] {
			p.seen[sum] = true
			p.states = append(p.states, leftState{left, p.acks})
		}
	}
}

// write writes the states to new directories in dir, and returns their names.
func (p *powerLoss) write(t *testing.T, dir string) (names []string) {
	t.Helper()
	for i, s := range p.states {
		names = append(names, fmt.Sprint(i))
		s.Write(t, filepath.Join(dir, names[i]))
	}
	return names
}

// TestPowerLoss checks what a loss of power at any call of the commands that write files
// would leave: every file is complete, everything that was acknowledged is there, and the
// same command run again completes the work.
func TestPowerLoss(t *testing.T) {
	in, commands := writers(t)
	commands["group"] = grouped(t)
	var cases atomic.Int64
	t.Cleanup(func() { t.Logf("%d states after a loss of power", cases.Load()) })
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := commands[name]
			want := c.reference(t, in("durable "+name))
			kinds := []string{"plain", "no names", "links"}
			if name == "group" {
				kinds = kinds[:1] // the names of many files make many states
			}
			for _, on := range kinds {
				states := c.losePower(t, fileSystems[on], in("power "+on+" "+name), want)
				cases.Add(int64(states))
				t.Logf("%s: %d states", on, states)
			}
		})
	}
}

// losePower runs a command in a new directory and checks what a loss of power would leave.
// It returns the number of states.
func (c *written) losePower(t *testing.T, on fileSystem, dir string, want map[string]string) int {
	t.Helper()
	base := filepath.Join(dir, "base")
	if err := os.MkdirAll(base, 0o777); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(base, "out")
	c.make(t, out)
	p := newPowerLoss(t, base, on, func(output string) []string {
		return slices.Repeat([]string{"out"}, strings.Count(output, c.said))
	})
	if status, said := testkit.Observe(t, program(t, c.args(out)...), p.entered, p.left); status != int(render.Done) {
		t.Fatalf("exit status %d\n%s", status, said)
	}
	if acks := len(p.acks); acks != len(c.sets) && !(c.capture && acks == 1) {
		t.Fatalf("%d acknowledged of %d", acks, len(c.sets))
	}
	states := filepath.Join(dir, "states")
	var acknowledged []string
	names := p.write(t, states)
	for i, name := range names {
		if c.capture && len(p.states[i].acks) > 0 {
			acknowledged = append(acknowledged, filepath.Join(name, "out"))
		}
	}
	judgeLeft(t, states, acknowledged)
	for i, name := range names {
		f := &faulty{written: *c, want: want, out: filepath.Join(states, name, "out"), about: fmt.Sprintf("state %d of %d", i, len(names))}
		f.judgeLeft(t, len(p.states[i].acks))
		if t.Failed() {
			break
		}
	}
	return len(names)
}

// judgeLeft runs the independent judge on a directory.
func judgeLeft(t *testing.T, dir string, acknowledged []string) {
	t.Helper()
	rows, good := judgeStore(t, dir, acknowledged...)
	if !good {
		t.Errorf("the judge: %+v", slices.DeleteFunc(rows, func(r judged) bool { return r.State != "broken" && r.State != "lost" }))
	}
}

// judgeLeft checks what a loss of power has left of a command, and repeats the command.
func (f *faulty) judgeLeft(t *testing.T, acknowledged int) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\nleft %q", f.about, fmt.Sprintf(format, args...), files(t, f.out))
	}
	if sets := f.judge(t, bad); sets < acknowledged {
		bad("%d acknowledged, and %d are left", acknowledged, sets)
	}
	f.repeat(t, bad)
}

// TestProxyPowerLoss checks what a loss of power at any call of a proxy would leave of its
// store: everything that the log calls stored is whole, nothing else looks whole, and
// recover completes the work.
func TestProxyPowerLoss(t *testing.T) {
	var cases atomic.Int64
	t.Cleanup(func() { t.Logf("%d states after a loss of power", cases.Load()) })
	for mode, more := range proxyModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := realTemp(t)
			base := filepath.Join(dir, "base")
			if err := os.Mkdir(base, 0o700); err != nil {
				t.Fatal(err)
			}
			a, p := newUpstream(t), newPowerLoss(t, base, fileSystems["plain"], stored)
			r := a.proxy(t, a.proxyArguments(filepath.Join(base, "store"), more...), p.entered, p.left)
			if r.status != int(render.Done) || len(r.stored) != len(responses) || len(p.acks) != len(responses) {
				t.Fatalf("%+v", r)
			}
			judge := &keptStores{dir: filepath.Join(dir, "judged"), response: checkResponse}
			for i, s := range p.states {
				store := filepath.Join(dir, "states", fmt.Sprint(i), "store")
				s.Write(t, filepath.Dir(store))
				if _, err := os.Stat(store); err != nil {
					if len(s.acks) > 0 {
						t.Errorf("state %d has no store", i)
					}
					continue
				}
				about := fmt.Sprintf("state %d of %d, %d acknowledged", i, len(p.states), len(s.acks))
				judge.keep(t, store, keptStore{about, r.log, s.acks, false})
				if status, said := ran("recover", store); status != int(render.Done) {
					t.Errorf("%s: recover: exit status %d: %s\nleft %v", about, status, said, sizes(t, store))
				}
				judge.keep(t, store, keptStore{about + ", recovered", r.log, s.acks, true})
			}
			judge.check(t)
			cases.Add(int64(len(p.states)))
		})
	}
}
