//go:build peer

package peer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/lint"
)

var update = flag.Bool("update", false, "rewrite the counts in docs/peers.md")

const (
	root    = "../../../"
	page    = root + "docs/peers.md"
	mutants = 5000
)

// A row of the page: our rules and codes for a rule of ag-ui-validate, and why they do not always
// report the same.
type row struct {
	ours   []string
	reason string
	// The numbers of streams: with a finding of ours too, with events outside a run, and others.
	both, outside, theirs int
}

// outside reports whether a stream has events outside a run, to which lint applies no other rules.
func outside(found map[string]bool) bool {
	return found["G1"] || found["G2"] || found["G3"] || found["G4"] || found["no_run"]
}

// TestPeer compares what ag-ui-validate and lint find in the same streams. Each finding of theirs
// is one of ours in the same stream, or has a reason on the page.
func TestPeer(t *testing.T) {
	text := string(testkit.Read(t, page))
	const begin = "<!-- counts -->\n"
	head, _, ok := strings.Cut(text, begin)
	if !ok {
		t.Fatalf("%s has no %q", page, begin)
	}
	rows := readRows(t, head)
	streams := streams(t)
	theirs := peer(t, streams)
	ours := map[string]int{} // ours to the number of streams
	alone := map[string]int{}
	used := map[string]bool{}
	for i, s := range streams {
		found := find(t, s)
		explained := map[string]bool{}
		for _, rule := range theirs[i] {
			r := rows[rule]
			if r == nil {
				t.Fatalf("%s: %s is not on the page", s.name, rule)
			}
			same := false
			for _, name := range r.ours {
				if found[name] {
					same, explained[name], used[rule+" "+name] = true, true, true
				}
			}
			switch {
			case same:
				r.both++
			case outside(found):
				r.outside++
			case r.reason != "":
				r.theirs++
			default:
				t.Errorf("%s: only theirs: %s; ours: %v\n%s", s.name, rule, slices.Sorted(maps.Keys(found)), strings.Join(s.events, "\n"))
			}
		}
		for name := range found {
			if ours[name]++; !explained[name] {
				alone[name]++
			}
		}
	}
	for rule, r := range rows {
		if r.reason != "" && r.theirs == 0 {
			t.Errorf("%s: the reason is never needed", rule)
		}
		for _, name := range r.ours {
			if !used[rule+" "+name] {
				t.Errorf("%s: %s never reports the same", rule, name)
			}
		}
	}
	counts := count(len(streams), rows, ours, alone)
	if *update && !t.Failed() {
		testkit.Write(t, page, head+begin+counts)
	} else if head+begin+counts != text {
		t.Errorf("the counts of %s are out of date: run make validate-peer UPDATE=1\n%s", page, counts)
	}
}

// readRows reads the table of rules.
func readRows(t *testing.T, text string) map[string]*row {
	t.Helper()
	rows := map[string]*row{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.HasPrefix(cells[0], "| AGUI") {
			continue
		}
		var ours []string
		for _, name := range strings.Split(cells[2], ", ") {
			if name = strings.Trim(name, "`"); name != "–" {
				ours = append(ours, name)
			}
		}
		rows[strings.TrimPrefix(cells[0], "| ")] = &row{ours: ours, reason: strings.TrimPrefix(strings.TrimSuffix(cells[3], " |"), "–")}
	}
	if len(rows) < 35 {
		t.Fatalf("%s has %d rules", page, len(rows))
	}
	return rows
}

type stream struct {
	name, path string
	events     []string
}

// streams returns the streams of all captures and vectors, and the mutants.
func streams(t *testing.T) (all []stream) {
	t.Helper()
	for _, dir := range []string{"discovery/captures", "discovery/drift/captures"} {
		err := filepath.WalkDir(root+dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == capture.ManifestName {
				if s := captured(t, filepath.Dir(path)); len(s.events) > 0 {
					all = append(all, s)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	recorded := len(all)
	files, err := filepath.Glob(root + "envelope/sequence/testdata/vectors/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		var vectors []struct {
			Name   string            `json:"name"`
			Events []json.RawMessage `json:"events"`
		}
		if err := json.Unmarshal(testkit.Read(t, path), &vectors); err != nil {
			t.Fatal(err)
		}
		for _, v := range vectors {
			s := stream{name: filepath.Base(path) + ": " + v.Name}
			for _, e := range v.Events {
				s.events = append(s.events, string(e))
			}
			if len(s.events) > 0 { // others say how their events are made
				all = append(all, s)
			}
		}
	}
	if recorded < 250 || len(all)-recorded < 100 {
		t.Fatalf("%d captures, %d vectors", recorded, len(all)-recorded)
	}
	before := len(all)
	r := rand.New(rand.NewPCG(33, 1))
	for i := 0; len(all) < before+mutants; i++ {
		events := judge.Generate(r, judge.Generator{Events: 5 + r.IntN(30)})
		if i%2 == 0 { // a capture, without the middle of long texts
			if events = all[r.IntN(recorded)].events; len(events) > 60 {
				events = slices.Concat(events[:40], events[len(events)-20:])
			}
		}
		if events = judge.Damage(r, slices.Clone(events)); len(events) > 0 {
			all = append(all, stream{name: fmt.Sprint("mutant ", i), events: events})
		}
	}
	return all
}

// captured returns the events of a capture.
func captured(t *testing.T, dir string) stream {
	t.Helper()
	c, err := capture.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := stream{name: strings.TrimPrefix(dir, root), path: dir}
	for {
		f, err := c.Next()
		if err != nil {
			return s
		}
		if json.Valid(f.Data) {
			s.events = append(s.events, string(f.Data))
		}
	}
}

// find returns the rules and codes of lint.
func find(t *testing.T, s stream) map[string]bool {
	t.Helper()
	path := s.path
	if path == "" {
		path = filepath.Join(t.TempDir(), "stream.ndjson")
		testkit.Write(t, path, strings.Join(compact(t, s.events), "\n")+"\n")
	}
	result := lint.Capture(t.Context(), path, lint.Options{}, nil)
	if result.Verdict == project.Failed {
		t.Fatalf("%s: %v", s.name, result.Findings)
	}
	found := map[string]bool{}
	for _, c := range result.Rules {
		name := string(c.Code)
		if c.Rule != nil {
			name = *c.Rule
		}
		found[name] = true
	}
	return found
}

// compact returns each event on one line.
func compact(t *testing.T, events []string) (lines []string) {
	t.Helper()
	for _, e := range events {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(e)); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b.String())
	}
	return lines
}

// peer returns the rules of ag-ui-validate that each stream breaks.
func peer(t *testing.T, streams []stream) (all [][]string) {
	t.Helper()
	python := os.Getenv("P20EXPORT_PEER")
	if python == "" {
		t.Fatal("P20EXPORT_PEER does not name the Python that has ag-ui-validate: run make validate-peer")
	}
	var in bytes.Buffer
	for _, s := range streams {
		line, err := json.Marshal(s.events)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), python, "-W", "error", "-B", "peer.py")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var rules []string
		if err := json.Unmarshal(lines.Bytes(), &rules); err != nil {
			t.Fatal(err)
		}
		all = append(all, rules)
	}
	if len(all) != len(streams) {
		t.Fatalf("%d answers for %d streams", len(all), len(streams))
	}
	return all
}

// count returns the tables of counts.
func count(streams int, rows map[string]*row, ours, alone map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nOf %d streams, so many break each rule of theirs:\n\n| theirs | lint, too | outside a run | only theirs |\n|---|---|---|---|\n", streams)
	for _, rule := range slices.Sorted(maps.Keys(rows)) {
		if r := rows[rule]; r.both+r.outside+r.theirs > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", rule, r.both, r.outside, r.theirs)
		}
	}
	b.WriteString("\nSo many break each rule of ours:\n\n| ours | streams | nothing of theirs says the same |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		fmt.Fprintf(&b, "| `%s` | %d | %d |\n", name, ours[name], alone[name])
	}
	return b.String()
}
