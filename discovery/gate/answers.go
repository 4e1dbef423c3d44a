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

// The questions of P20 §14.3 and §14.
const (
	QuestionSnapshot = "Is there a capture whose emitted MESSAGES_SNAPSHOT produces an artifact?"
	QuestionRaw      = "Is the raw captured run envelope preserved?"
	QuestionOne      = "Does a bounded run emit exactly one usable snapshot?"
	QuestionParent   = "Is parentRunId absent, incidental or common?"
	QuestionSmaller  = "Is the artifact smaller than the upstream envelope?"
	QuestionAnchors  = "Do the required ids contain too much?"
	QuestionState    = "Can an integration produce the artifact without activity or state?"
)

func (g *Gate) snapshot(runs []analysis.Run, all Summary) Answer {
	from := 0
	var others []string // integrations that do not qualify
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
	a.Text = fmt.Sprintf("Runs that produce an artifact of the one snapshot they emitted: %d of %d, %d of them with its messages unchanged. Integrations with such a run: %d of %d.",
		all.Emitted(), all.Runs, all.Count(analysis.Exact), from, len(g.Summaries))
	if others != nil {
		a.Text += " Some of these runs are from integrations that do not qualify: " + strings.Join(others, "; ") + "."
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
	a.Text = fmt.Sprintf("Captures whose files match the sizes and digests in their manifest: %d of %d.", kept, len(captures))
	switch {
	case broken == 1:
		a.Text += " One of them is truncated."
	case broken > 1:
		a.Text += fmt.Sprintf(" %d of them are truncated.", broken)
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
	a.Text = fmt.Sprintf("Runs that ended with RUN_FINISHED, by number of snapshots: one %d, none %d, several %d. Runs that ended with RUN_ERROR: one %d, none %d, several %d. Runs whose one snapshot is usable, because it produces an artifact and no streamed text is found to be missing from it: %d. Runs whose one snapshot produces an artifact but lacks streamed text: %d.",
		s.Finished.One, s.Finished.None, s.Finished.Several, s.Failed.One, s.Failed.None, s.Failed.Several, all.Emitted(), lacking)
	a.Text += fmt.Sprintf(" Runs with several snapshots whose last one produces an artifact, with no streamed text found to be missing: %d; with streamed text missing: %d. Streamed texts are compared with the texts in the snapshot by role, ignoring white space; ids, names and order are not compared.",
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
		a.Word = "absent, and not requested"
	default:
		a.Word = "absent"
	}
	a.Text = fmt.Sprintf("Runs whose request named a parent: %d. RUN_STARTED names a parent in %d of them; the copy of the request in RUN_STARTED names one in %d of them. Of the %d other runs, %d name a parent in RUN_STARTED.",
		p.Request, p.Echoed, p.EchoedInput, all.Runs-p.Request, p.RunStarted-p.Echoed)
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return e.Parent.Request || e.Parent.RunStarted || e.Parent.Input }) {
		a.Evidence = append(a.Evidence, evidence(run, project.RunStartedPart)...)
	}
	return a
}

func smaller(runs []analysis.Run, all Summary) Answer {
	s := all.Sizes
	if s.Artifacts == 0 {
		return Answer{Question: QuestionSmaller, Word: "unknown", Text: "There are no artifacts to measure."}
	}
	a := Answer{Question: QuestionSmaller, Favorable: s.EmittedBelowRun > 0, Word: "in part"}
	switch {
	case s.BelowRun == 0:
		a.Word = "no"
	case s.BelowEnvelope == s.Artifacts:
		a.Word = "yes"
	}
	a.Text = fmt.Sprintf("Canonical artifacts that are smaller than the captured run: %d of %d; among those of a usable snapshot: %d of %d. Artifacts that are smaller than the three events of the bounded envelope: %d of %d; without white space: %d. The answer is yes only if all artifacts are smaller than these events.",
		s.BelowRun, s.Artifacts, s.EmittedBelowRun, all.Emitted(), s.BelowEnvelope, s.Artifacts, s.CompactBelowEnvelope)
	runs = slices.DeleteFunc(slices.Clone(runs), func(e analysis.Run) bool { return e.Sizes == nil })
	bySize := func(a, b analysis.Run) int { return cmp.Compare(a.Sizes.Run, b.Sizes.Run) }
	least, most := slices.MinFunc(runs, bySize), slices.MaxFunc(runs, bySize)
	a.Text += " Smallest run: " + sizes(least) + "."
	a.Evidence = evidence(least, "")
	if bySize(least, most) < 0 {
		a.Text += " Largest run: " + sizes(most) + "."
		a.Evidence = append(a.Evidence, evidence(most, "")...)
	}
	return a
}

func sizes(run analysis.Run) string {
	s := run.Sizes
	return fmt.Sprintf("%s (run %d bytes, envelope %d bytes, artifact %d bytes, without white space %d bytes)", run.Capture, s.Run, s.Envelope, s.Artifact, s.Compact)
}

// unanswerable answers a question for which there are no runs.
func unanswerable(question string) Answer {
	return Answer{Question: question, Word: "unknown", Text: "No capture contains a run."}
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
