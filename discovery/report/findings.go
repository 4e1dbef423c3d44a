package report

import (
	"strconv"

	"github.com/p20export/p20export/finding"
)

// findingsView is the findings of one projection, or of a capture as a whole.
type findingsView struct {
	Of   string // empty where it need not be said
	List []findingView
	More int
}

type findingView struct {
	finding.Finding
	Place string
	Text  string
	Next  string
}

// place says where a finding is, in few words.
func place(f finding.Finding) string {
	s := ""
	if f.EventIndex != nil {
		s = " at event " + strconv.Itoa(*f.EventIndex)
	}
	if f.Pointer != "" {
		s += " " + string(f.Pointer)
	}
	return s
}

func newFindings(of string, list []finding.Finding, left *limits) findingsView {
	v := findingsView{Of: of}
	for _, f := range list {
		cost := item + len(f.Message) + len(f.Hint) + len(f.Pointer)
		if len(v.List) == left.listed || take(&left.facts, cost) < cost {
			v.More++
			continue
		}
		v.List = append(v.List, findingView{Finding: f, Place: visible(string(f.Pointer)), Text: visible(f.Message), Next: visible(f.Hint)})
	}
	return v
}
