package render

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/project/record"
)

// printLineage prints a graph in a format.
func printLineage(g *lineage.Graph, f Format) string {
	var out bytes.Buffer
	p := New(&out, f, record.Tool{})
	p.Lineage(g)
	_ = p.Close(nil)
	return out.String()
}

// drawGraph returns a graph of up to n runs with unique ids.
func drawGraph(t *rapid.T, n int) *lineage.Graph {
	runs := make([]lineage.Run, rapid.IntRange(1, n).Draw(t, "runs"))
	for i := range runs {
		runs[i] = lineage.Run{Thread: "t", ID: "run-" + string(rune('一'+i)), End: lineage.Finished}
		// Most runs continue one of the last, as in a chat; some any other, or none.
		switch back := rapid.IntRange(0, 9).Draw(t, "back"); {
		case i > 0 && back < 4:
			runs[i].ParentID = runs[max(0, i-1-back)].ID
		case i > 0 && back < 7:
			runs[i].ParentID = runs[rapid.IntRange(0, i-1).Draw(t, "parent")].ID
		case back == 9:
			runs[i].ParentID = "gone"
		}
	}
	return lineage.New(runs)
}

// treeLine matches a line of the tree: the indentation, the mark of a side branch, and the id.
var treeLine = regexp.MustCompile(`^  ((?:│ )*)(├─)?● (\S+)  `)

// The tree of a graph says which run continues which, and needs few columns.
func TestTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 1000)
		parents := make(map[string]string)
		var at []string // the last run of each column
		root := true
		for line := range strings.Lines(printLineage(g, Text)) {
			if line == "\n" {
				root = true
				continue
			}
			m := treeLine.FindStringSubmatch(line)
			if m == nil {
				continue // the heading or a finding
			}
			level := strings.Count(m[1], "│")
			side := m[2] != ""
			if side {
				level++
			}
			switch {
			case root && (level > 0 || side):
				t.Fatalf("a root is indented: %s", line)
			case root:
				parents[m[3]] = ""
				at = nil
			case side:
				parents[m[3]] = at[level-1]
			default:
				parents[m[3]] = at[level]
			}
			root = false
			if level > len(at) || level > int(math.Log2(float64(len(g.Nodes)))) {
				t.Fatalf("%d columns for %d runs: %s", level, len(g.Nodes), line)
			}
			at = append(at[:level], m[3])
		}
		if len(parents) != len(g.Nodes) {
			t.Fatalf("%d of %d runs are shown", len(parents), len(g.Nodes))
		}
		for _, n := range g.Nodes {
			want := ""
			if n.Parent != nil {
				want = n.Parent.ID
			}
			if parents[n.ID] != want {
				t.Fatalf("run %s is shown below %q, want %q", n.ID, parents[n.ID], want)
			}
		}
	})
}

// The lines of a graph, without the ids of threads and runs.
var (
	dotLine     = regexp.MustCompile(`^(digraph lineage \{|  node \[shape=box\]|  subgraph cluster_\d+ \{|    label="thread (\\[\\"]|[^\\"])*"|    r\d+ \[label="(\\[\\"]|[^\\"])*\\n[a-z]+, [0-9,]+ events?"\]|  r\d+ -> r\d+( \[style=dashed\])?|  ?\}|\})$`)
	mermaidLine = regexp.MustCompile(`^(flowchart TD|  subgraph t\d+\["thread ([a-zA-Z0-9 .-]|#\d+;)*"\]|    r\d+\["([a-zA-Z0-9 .-]|#\d+;)*<br>[a-z]+, [0-9,]+ events?"\]|  end|  r\d+ -(\.-)?(->|>) r\d+)$`)
)

// No id, however hostile, changes the structure of a graph or reaches a terminal.
func TestGraphsAreSafe(t *testing.T) {
	t.Parallel()
	hostile := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("\\\"'`[](){}<>|;:#%&\n\r\x1b\u2028\u202eend-stylerNG")))) // letters of keywords and escapes
	rapid.Check(t, func(t *rapid.T) {
		var runs []lineage.Run
		for range rapid.IntRange(1, 5).Draw(t, "runs") {
			runs = append(runs, lineage.Run{Thread: hostile.Draw(t, "thread"), ID: hostile.Draw(t, "id"), ParentID: hostile.Draw(t, "parent"), End: lineage.Cut, Events: 1})
		}
		g := lineage.New(runs)
		edges := 0
		for _, n := range g.Nodes {
			if n.Parent != nil {
				edges++
			}
		}
		for _, f := range []struct {
			format    Format
			line      *regexp.Regexp
			ofThreads int
			others    int
		}{{Dot, dotLine, 3, 3}, {Mermaid, mermaidLine, 2, 1}} {
			text := printLineage(g, f.format)
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if want := f.others + f.ofThreads*len(g.Threads) + len(g.Nodes) + edges; len(lines) != want {
				t.Fatalf("%s has %d lines, want %d:\n%s", f.format, len(lines), want, text)
			}
			for _, line := range lines {
				if !f.line.MatchString(line) {
					t.Fatalf("%s: %q", f.format, line)
				}
			}
			if strings.ContainsAny(text, "\r\x1b\u2028\u202e") {
				t.Fatalf("%s has control characters: %q", f.format, text)
			}
		}
	})
}
