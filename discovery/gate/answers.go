package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/project"
)

// The questions of P20 §14.3, and of §14.
const (
	QuestionSnapshot = "Does a capture of an emitted MESSAGES_SNAPSHOT exist from which an artifact is made?"
	QuestionRaw      = "Is the raw captured run envelope preserved?"
	QuestionOne      = "Does a bounded run emit exactly one usable snapshot?"
	QuestionParent   = "Is parentRunId absent, incidental or common?"
	QuestionSmaller  = "Is the artifact smaller than the upstream envelope?"
	QuestionAnchors  = "Is a required identity anchor too rich?"
	QuestionState    = "Can an integration produce the artifact without activity or state?"
)

func (g *Gate) snapshot(runs []analysis.Run, all Summary) Answer {
	from := 0
	var others []string // that do not qualify
	for _, s := range g.Summaries {
		if s.Emitted() == 0 {
			continue
		}
		from++
		if s.Qualification.Qualifies == No && s.Integration.Name != "" {
			names := append(s.capturesWith(analysis.Exact), s.capturesWith(analysis.Reduced)...)
			slices.Sort(names)
			others = append(others, s.Integration.Name+" in "+strings.Join(slices.Compact(names), ", "))
		}
	}
	a := Answer{Question: QuestionSnapshot, Favorable: all.Emitted() > 0, Word: yesOrNo(all.Emitted() > 0)}
	a.Text = fmt.Sprintf("Runs that give an artifact of the one snapshot they emitted: %d of %d, %d of them with its messages as they are. Integrations with such a run: %d of %d.",
		all.Emitted(), all.Runs, all.Count(analysis.Exact), from, len(g.Summaries))
	if others != nil {
		a.Text += " Those of them that do not qualify have such runs only in these scenarios: " + strings.Join(others, "; ") + "."
	}
	a.Text += fmt.Sprintf(" Runs whose snapshot lacks streamed text are not counted; there are %d.", all.Count(analysis.Incomplete))
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return e.Verdict.Emitted() }) {
		a.Evidence = append(a.Evidence, evidence(run, project.SnapshotPart)...)
	}
	return a
}

func preserved(runs []analysis.Run, all Summary) Answer {
	captures, kept, broken, damaged := map[string]bool{}, 0, 0, 0
	for _, run := range runs {
		if captures[run.Capture] {
			continue
		}
		captures[run.Capture] = true
		switch {
		case run.Digest == "":
			damaged++
		case run.Response != run.Capture:
			kept++
			if run.End != "" {
				broken++
			}
		}
	}
	if all.Runs == 0 && damaged == 0 {
		return unanswerable(QuestionRaw)
	}
	good := kept > 0 && damaged == 0
	a := Answer{Question: QuestionRaw, Favorable: good, Word: yesOrNo(good)}
	a.Text = fmt.Sprintf("Captures whose files have the size and digest that their manifest states: %d of %d.", kept, len(captures))
	switch {
	case broken == 1:
		a.Text += " One of them broke off."
	case broken > 1:
		a.Text += fmt.Sprintf(" %d of them broke off.", broken)
	}
	if damaged > 0 {
		a.Text += fmt.Sprintf(" Captures that could not be read: %d.", damaged)
	}
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return len(e.Events) == 3 }) {
		a.Evidence = append(a.Evidence, evidence(run, "")...)
	}
	return a
}

func exactlyOne(runs []analysis.Run, all Summary) Answer {
	if all.Runs == 0 {
		return unanswerable(QuestionOne)
	}
	s := all.Snapshots
	usable, lacking, lastLacking := s.Finished.One, 0, 0
	for _, run := range runs {
		switch {
		case run.Verdict != analysis.Incomplete:
		case len(run.Snapshots) > 1:
			lastLacking++
		default:
			lacking++
			if run.Terminal == envelope.RunFinished {
				usable--
			}
		}
	}
	a := Answer{Question: QuestionOne, Favorable: all.Emitted() > 0, Word: "not every one"}
	switch usable {
	case 0:
		a.Word = "no"
	case s.Finished.Total():
		a.Word = "yes, where it finishes"
	}
	a.Text = fmt.Sprintf("Runs that ended in RUN_FINISHED, by their snapshots: one %d, none %d, several %d. Runs that ended in RUN_ERROR: one %d, none %d, several %d. Of those with one, it is usable in %d: it gives an artifact, and no streamed text was found lacking in the snapshot. It gives an artifact but lacks streamed text in %d.",
		s.Finished.One, s.Finished.None, s.Finished.Several, s.Failed.One, s.Failed.None, s.Failed.Several, all.Emitted(), lacking)
	a.Text += fmt.Sprintf(" Of those with several, the last gives an artifact, and no streamed text was found lacking in the snapshot, in %d; it gives one but lacks some in %d. The texts that the run streamed are compared with those in the snapshot, by role and without white space; ids, names and order are not compared.",
		all.Count(analysis.Chosen), lastLacking)
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return len(e.Snapshots) > 1 || e.Verdict == analysis.Incomplete }) {
		for _, s := range run.Snapshots {
			a.Evidence = append(a.Evidence, Evidence{run.Response, project.SnapshotPart, s.Offset, s.Bytes})
		}
	}
	return a
}

func parent(runs []analysis.Run, all Summary) Answer {
	p := all.Parent
	a := Answer{Question: QuestionParent, Favorable: all.Runs > 0}
	switch {
	case all.Runs == 0:
		return unanswerable(QuestionParent)
	case p.Echoed*2 > p.Request:
		a.Word = "common"
	case p.RunStarted > 0:
		a.Word = "incidental"
	case p.Request == 0:
		a.Word = "absent, and not asked for"
	default:
		a.Word = "absent"
	}
	a.Text = fmt.Sprintf("Runs whose request named a parent: %d. RUN_STARTED names one in %d of them; the copy of the request that RUN_STARTED may carry does in %d. Of the %d other runs, %d name one in RUN_STARTED.",
		p.Request, p.Echoed, p.EchoedInput, all.Runs-p.Request, p.RunStarted-p.Echoed)
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return e.Parent.Request || e.Parent.RunStarted || e.Parent.Input }) {
		a.Evidence = append(a.Evidence, evidence(run, project.RunStartedPart)...)
	}
	return a
}

func smaller(runs []analysis.Run, all Summary) Answer {
	s := all.Sizes
	if s.Artifacts == 0 {
		return Answer{Question: QuestionSmaller, Word: "unknown", Text: "There is no artifact to measure."}
	}
	a := Answer{Question: QuestionSmaller, Favorable: s.EmittedBelowRun > 0, Word: "in part"}
	switch {
	case s.BelowRun == 0:
		a.Word = "no"
	case s.BelowEnvelope == s.Artifacts:
		a.Word = "yes"
	}
	a.Text = fmt.Sprintf("Canonical artifacts smaller than their run as it was captured: %d of %d; of those of one usable snapshot: %d of %d. Smaller than the three events of the bounded envelope: %d of %d; without white space: %d.",
		s.BelowRun, s.Artifacts, s.EmittedBelowRun, all.Emitted(), s.BelowEnvelope, s.Artifacts, s.CompactBelowEnvelope)
	runs = slices.DeleteFunc(slices.Clone(runs), func(e analysis.Run) bool { return e.Sizes == nil })
	bySize := func(a, b analysis.Run) int { return cmp.Compare(a.Sizes.Run, b.Sizes.Run) }
	least, most := slices.MinFunc(runs, bySize), slices.MaxFunc(runs, bySize)
	a.Text += " The smallest run: " + sizes(least) + "."
	a.Evidence = evidence(least, "")
	if bySize(least, most) < 0 {
		a.Text += " The largest: " + sizes(most) + "."
		a.Evidence = append(a.Evidence, evidence(most, "")...)
	}
	return a
}

func sizes(run analysis.Run) string {
	s := run.Sizes
	return fmt.Sprintf("%s, run %d bytes, envelope %d, artifact %d canonical and %d without white space", run.Capture, s.Run, s.Envelope, s.Artifact, s.Compact)
}

// unanswerable answers what only runs could.
func unanswerable(question string) Answer {
	return Answer{Question: question, Word: "unknown", Text: "No capture holds a run."}
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
