package lineage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
)

// runs returns the runs of a text such as "a b<a other/c", in which < precedes the
// parentRunId and / follows the thread, which is t if it is missing. The id _ is empty.
func runs(text string) (list []lineage.Run) {
	for i, word := range strings.Fields(text) {
		r := lineage.Run{Thread: "t", Position: int64(i + 1)}
		if thread, rest, ok := strings.Cut(word, "/"); ok {
			r.Thread, word = thread, rest
		}
		r.ID, r.ParentID, _ = strings.Cut(word, "<")
		if r.ID == "_" {
			r.ID = ""
		}
		list = append(list, r)
	}
	return list
}

// ids returns the ids of runs.
func ids(nodes []*lineage.Node) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.ID)
	}
	return strings.Join(list, " ")
}

func TestGraph(t *testing.T) {
	tests := []struct {
		name, runs string
		paths      []string // of the runs, in order
		branches   []string // of the first thread
		codes      []finding.Code
	}{
		{"no runs", "", nil, nil, nil},
		{"one run", "a", []string{"a"}, []string{"a"}, nil},
		{"implied edges", "a b c", []string{"a", "a b", "a b c"}, []string{"a b c"}, nil},
		{"named edges", "a b<a c<b", []string{"a", "a b", "a b c"}, []string{"a b c"}, nil},
		{"a branch", "a b c<a d<c e<b", []string{"a", "a b", "a c", "a c d", "a b e"}, []string{"a b e", "a > c d"}, nil},
		{"a run without parent continues the last run, not the last of its branch", "a b c<a d",
			[]string{"a", "a b", "a c", "a c d"}, []string{"a b", "a > c d"}, nil},
		{"two branches of one run", "a b c<a d<a", []string{"a", "a b", "a c", "a d"}, []string{"a b", "a > c", "a > d"}, nil},
		{"threads", "a u/a b u/b<a", []string{"a", "a", "a b", "a b"}, []string{"a b"}, nil},
		{"unknown parent", "a b<x c", []string{"a", "b", "b c"}, []string{"a", "b c"}, []finding.Code{finding.ParentRunUnknown}},
		{"parent in another thread", "u/a b<a", []string{"a", "b"}, []string{"a"}, []finding.Code{finding.ParentRunElsewhere}},
		{"parent starts later", "a<b x/y b<q", []string{"a", "y", "b"}, []string{"a", "b"},
			[]finding.Code{finding.ParentRunLater, finding.ParentRunUnknown}},
		{"itself", "a<a b", []string{"a", "a b"}, []string{"a b"}, []finding.Code{finding.ParentRunCycle}},
		{"cycle of two", "a<b b<a", []string{"a", "a b"}, []string{"a b"}, []finding.Code{finding.ParentRunCycle}},
		{"cycle with an implied edge", "a<c b c", []string{"a", "a b", "a b c"}, []string{"a b c"}, []finding.Code{finding.ParentRunCycle}},
		{"two cycles and a run that leads to one", "a<b b<a c<d d<c e<f f<b", []string{"a", "a b", "c", "c d", "e", "a b f"},
			[]string{"a b f", "c d", "e"}, []finding.Code{finding.ParentRunCycle, finding.ParentRunCycle, finding.ParentRunLater}},
		{"several later parents in a cycle", "a<b b<c c<a", []string{"a", "b", "a c"}, []string{"a c", "b"},
			[]finding.Code{finding.ParentRunCycle, finding.ParentRunCycle}},
		{"started twice", "a b a c<a d<b", []string{"a", "a b", "a b a", "a b a c", "a b d"}, []string{"a b a c", "b > d"},
			[]finding.Code{finding.RunStartedTwice}},
		{"started twice, the second continues the first", "a a<a", []string{"a", "a a"}, []string{"a a"}, []finding.Code{finding.RunStartedTwice}},
		{"no run id", "a _ b", []string{"a", "a ", "a  b"}, []string{"a  b"}, []finding.Code{finding.RunIDMissing}},
		{"no run id twice", "_ _", []string{"", " "}, []string{" "}, []finding.Code{finding.RunIDMissing, finding.RunIDMissing}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := lineage.New(runs(test.runs))
			var paths, branches []string
			for _, n := range g.Nodes {
				paths = append(paths, ids(n.Path()))
			}
			if len(g.Threads) > 0 {
				for i, b := range g.Threads[0].Branches {
					text := ids(b.Runs)
					if b.From != nil {
						text = b.From.ID + " > " + text
					}
					branches = append(branches, text)
					if b.Number != i+1 || len(b.Head().Children) != 0 {
						t.Errorf("branch %d is %+v", i, b)
					}
				}
			}
			var codes []finding.Code
			for _, f := range g.Findings() {
				codes = append(codes, f.Code)
			}
			if diff := cmp.Diff(test.paths, paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.branches, branches); diff != "" {
				t.Errorf("branches (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.codes, codes); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindings(t *testing.T) {
	var got []string
	for _, f := range lineage.New(runs(`_ a<a b<x c<u1 u/u1 d<e e<q a f<g g<f`)).Findings() {
		got = append(got, f.Message)
	}
	want := []string{
		`a run of thread "t" has no runId`,
		`run "a" of thread "t" names itself as its parent`,
		`run "b" of thread "t" names "x" as its parent, which is not known`,
		`run "c" of thread "t" names "u1" as its parent, which is a run of thread "u"`,
		`run "d" of thread "t" names "e" as its parent, which starts later`,
		`run "e" of thread "t" names "q" as its parent, which is not known`,
		`run "a" of thread "t" started before`,
		`run "f" of thread "t" names "g" as its parent, which continues it`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFindingsLimit(t *testing.T) {
	var list []lineage.Run
	for range finding.MaxListed - 1 {
		list = append(list, lineage.Run{})
	}
	list = append(list, lineage.Run{ParentID: "x"}) // two findings
	found := lineage.New(list).Findings()
	if n := len(found); n != finding.MaxListed+1 || found[n-1].Code != finding.FindingsUnlisted || found[n-1].Message != "1 more findings are not listed" {
		t.Errorf("%d findings, the last is %v", n, found[n-1])
	}
	list[len(list)-1].ParentID = ""
	if found = lineage.New(list).Findings(); len(found) != finding.MaxListed {
		t.Errorf("%d findings, the last is %v", len(found), found[len(found)-1])
	}
}

func TestCommonAncestor(t *testing.T) {
	g := lineage.New(runs("a b c d<b e<d f<x g"))
	tests := []struct{ a, b, want string }{
		{"a", "a", "a"}, {"c", "e", "b"}, {"e", "c", "b"}, {"a", "e", "a"}, {"e", "d", "d"}, {"g", "f", "f"}, {"c", "g", ""}, {"g", "a", ""},
	}
	for _, test := range tests {
		got := ""
		if n := lineage.CommonAncestor(g.Find("t", test.a)[0], g.Find("t", test.b)[0]); n != nil {
			got = n.ID
		}
		if got != test.want {
			t.Errorf("of %s and %s: %q, want %q", test.a, test.b, got, test.want)
		}
	}
}

func TestFind(t *testing.T) {
	g := lineage.New(runs("a u/a b a _"))
	if got := g.Find("t", "a"); len(got) != 2 || got[0].Position != 1 || got[1].Position != 4 {
		t.Errorf("found %v", got)
	}
	if got := g.Find("t", ""); got != nil {
		t.Errorf("found %v", got)
	}
	if g.Thread("u") == nil || g.Thread("v") != nil {
		t.Error("Thread finds the wrong threads")
	}
}

func TestWalk(t *testing.T) {
	g := lineage.New(runs("a b c<a d<b e<b f<e x<y z"))
	var got []string
	for n := range g.Thread("t").Walk() {
		got = append(got, strings.Repeat(">", n.Branch.Level)+n.ID)
	}
	if diff := cmp.Diff("a >c b >e >f d x z", strings.Join(got, " ")); diff != "" {
		t.Error(diff)
	}
	for range g.Thread("t").Walk() {
		break
	}
}

// TestLong checks that the depth of a graph is not limited by a stack.
func TestLong(t *testing.T) {
	const n = 1_000_000
	list := make([]lineage.Run, n)
	for i := range list {
		list[i] = lineage.Run{Thread: "t", ID: fmt.Sprint(i)}
	}
	list[0].ParentID = fmt.Sprint(n - 1)
	g := lineage.New(list)
	last := g.Nodes[n-1]
	if path := last.Path(); len(path) != n || path[0] != g.Nodes[0] || lineage.CommonAncestor(path[1], last) != path[1] {
		t.Error("the path is wrong")
	}
	count := 0
	for range g.Threads[0].Walk() {
		count++
	}
	if found := g.Findings(); count != n || len(found) != 1 || found[0].Code != finding.ParentRunCycle {
		t.Errorf("%d runs, findings %v", count, found)
	}
}

func TestOfCapture(t *testing.T) {
	read := func(text string) *envelope.Event {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	start := read(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	start.Index = 3
	request := []byte(`{"parentRunId":"p"}`)
	tests := []struct {
		terminal, parent string
		request          []byte
		want             lineage.Run
	}{
		{"", "", nil, lineage.Run{End: lineage.Cut}},
		{`{"type":"RUN_FINISHED"}`, "q", request, lineage.Run{End: lineage.Finished, ParentID: "q"}},
		{`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[]}}`, "", request, lineage.Run{End: lineage.Interrupted, ParentID: "p"}},
		{`{"type":"RUN_FINISHED","outcome":"interrupt"}`, "", []byte("[1"), lineage.Run{End: lineage.Interrupted}},
		{`{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}`, "q", nil, lineage.Run{End: lineage.Cancelled, ParentID: "q"}},
		{`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`, "", []byte(`{"parentRunId":1}`), lineage.Run{End: lineage.Finished}},
		{`{"type":"RUN_ERROR","message":"no"}`, "", []byte("[]"), lineage.Run{End: lineage.Failed}},
	}
	for _, test := range tests {
		r := &envelope.Run{ThreadID: "t", RunID: "r", ParentRunID: test.parent, Started: start}
		r.Families.Add("RUN_STARTED")
		if test.terminal != "" {
			r.Terminal = read(test.terminal)
			r.Families.Add(r.Terminal.Type)
			test.want.Events++
		}
		test.want.Thread, test.want.ID, test.want.Source, test.want.Position = "t", "r", "file", 3
		test.want.Events++
		if diff := cmp.Diff(test.want, lineage.OfCapture("file", r, test.request)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.terminal, diff)
		}
	}
}
