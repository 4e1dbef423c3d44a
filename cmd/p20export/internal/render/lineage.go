package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
)

// LineageRow is the row of a thread.
type LineageRow struct {
	// ThreadID is null in the row of a capture that could not be read.
	ThreadID *string `json:"thread_id"`
	// Capture is the path of a capture that could not be read or has no run, or null.
	Capture *string `json:"capture"`
	// Runs has the runs in the order in which they began.
	Runs []lineage.RunRow `json:"runs"`
	// Branches has the branches in the order of their first runs.
	Branches []lineage.BranchRow `json:"branches"`
	// Findings are about the ids of the runs, or why the capture could not be read.
	Findings []finding.Finding `json:"findings"`
}

// Lineage prints the graph of the runs of threads. Formats that are a graph have no findings.
func (p *Printer) Lineage(g *lineage.Graph) {
	switch p.format {
	case Dot:
		p.dot(g)
	case Mermaid:
		p.mermaid(g)
	}
	for _, t := range g.Threads {
		switch p.format {
		case JSON:
			p.json(newLineageRow(t))
		case Text:
			p.tree(t)
			p.Findings(t.Findings())
		}
	}
}

// Unread prints why a capture has no runs in the graph.
func (p *Printer) Unread(path string, about []finding.Finding) {
	if p.format == JSON {
		p.json(LineageRow{Capture: &path, Runs: []lineage.RunRow{}, Branches: []lineage.BranchRow{}, Findings: about})
		return
	}
	p.Line("%s", path)
	p.Findings(about)
}

func newLineageRow(t *lineage.Thread) LineageRow {
	row := LineageRow{ThreadID: &t.ID, Findings: t.Findings()}
	row.Runs, row.Branches = t.Rows()
	return row
}

// tree prints the runs of a thread as a tree. Below a run come the runs that continue it: the
// one with the most descendants in the same column, after the others, which are indented. So
// n runs need at most log2(n) columns, and long threads stay readable.
func (p *Printer) tree(t *lineage.Thread) {
	p.Line("thread %s: %s", shownID(t.ID), strings.Join([]string{
		Plural(len(t.Nodes), "run", "runs"), Plural(len(t.Branches), "branch", "branches"), Plural(len(t.Roots), "root", "roots"),
	}, ", "))
	size, repeated := make(map[*lineage.Node]int, len(t.Nodes)), make(map[string]int)
	for i := len(t.Nodes) - 1; i >= 0; i-- { // parents precede the runs that continue them
		n := t.Nodes[i]
		size[n]++
		repeated[n.ID]++
		if n.Parent != nil {
			size[n.Parent] += size[n]
		}
	}
	var column func(n *lineage.Node, indent, mark string)
	column = func(n *lineage.Node, indent, mark string) {
		for n != nil {
			p.Line("  %s\t%s  %s%s", painted(mark), shownID(n.ID), p.nodeDetails(n), place(n, repeated[n.ID] > 1))
			mark = indent + "● "
			next := heaviest(n.Children, size)
			for _, child := range n.Children {
				if child != next {
					column(child, indent+"│ ", indent+"├─● ")
				}
			}
			n = next
		}
	}
	for i, root := range t.Roots {
		if i > 0 {
			p.Note("")
		}
		column(root, "", "● ")
	}
}

// heaviest returns the run with the most descendants, the last of several, or nil.
func heaviest(list []*lineage.Node, size map[*lineage.Node]int) (most *lineage.Node) {
	for _, n := range list {
		if most == nil || size[n] >= size[most] {
			most = n
		}
	}
	return most
}

// nodeDetails returns what the tree says about a run.
func (p *Printer) nodeDetails(n *lineage.Node) painted {
	text := string(p.Paint(lineageColour(n.End), string(n.End))) + ", " + Counted(n.Events, "event", "events")
	if !n.StartedAt.IsZero() {
		text += ", " + seconds(n.StartedAt)
	}
	if n.ParentID != "" && n.Parent == nil {
		text += ", parent " + finding.Escape(shownID(n.ParentID)) + " not found"
	}
	return painted(text)
}

// place returns where a run is, if its id does not say that.
func place(n *lineage.Node, ambiguous bool) string {
	if !ambiguous {
		return ""
	}
	return ", in " + n.Source + " at " + strconv.FormatInt(n.Position, 10)
}

// lineageColour returns the colour of the end of a run.
func lineageColour(end lineage.End) string {
	switch end {
	case lineage.Finished:
		return green
	case lineage.Failed, lineage.Cut:
		return red
	}
	return yellow
}

// dot prints a graph in the language of Graphviz. All names are numbers, so ids occur only
// in labels.
func (p *Printer) dot(g *lineage.Graph) {
	p.Raw([]byte("digraph lineage {\n  node [shape=box]\n"))
	for i, t := range g.Threads {
		fmt.Fprintf(p.w, "  subgraph cluster_%d {\n    label=%s\n", i+1, dotLabel("thread "+t.ID))
		for _, n := range t.Nodes {
			fmt.Fprintf(p.w, "    r%d [label=%s]\n", n.Index+1, dotLabel(n.ID, graphDetails(n)))
		}
		p.Raw([]byte("  }\n"))
	}
	for _, n := range g.Nodes {
		if n.Parent != nil {
			style := ""
			if n.Edge == lineage.Implied {
				style = " [style=dashed]"
			}
			fmt.Fprintf(p.w, "  r%d -> r%d%s\n", n.Parent.Index+1, n.Index+1, style)
		}
	}
	p.Raw([]byte("}\n"))
}

// dotLabel returns lines of text as a quoted string. Graphviz interprets backslashes and the
// entities of HTML in it.
func dotLabel(lines ...string) string {
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(finding.Escape(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// mermaid prints a graph in the language of Mermaid flowcharts. All names are numbers, so ids
// occur only in labels.
func (p *Printer) mermaid(g *lineage.Graph) {
	p.Raw([]byte("flowchart TD\n"))
	for i, t := range g.Threads {
		fmt.Fprintf(p.w, "  subgraph t%d[\"%s\"]\n", i+1, mermaidText("thread "+t.ID))
		for _, n := range t.Nodes {
			fmt.Fprintf(p.w, "    r%d[\"%s<br>%s\"]\n", n.Index+1, mermaidText(n.ID), graphDetails(n))
		}
		p.Raw([]byte("  end\n"))
	}
	for _, n := range g.Nodes {
		if n.Parent != nil {
			arrow := "-->"
			if n.Edge == lineage.Implied {
				arrow = "-.->"
			}
			fmt.Fprintf(p.w, "  r%d %s r%d\n", n.Parent.Index+1, arrow, n.Index+1)
		}
	}
}

// mermaidText returns text in which all characters that could have a meaning in a flowchart,
// its directives, its comments, HTML or Markdown are character references.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range finding.Escape(text) {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == ' ', r == '-', r == '.':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// graphDetails returns what a graph says about a run. It contains no ids.
func graphDetails(n *lineage.Node) string {
	return string(n.End) + ", " + Counted(n.Events, "event", "events")
}
