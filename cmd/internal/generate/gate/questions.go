package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/project"
)

// questionSmallest is the question of P20 §14 that projections of fewer events answer.
const questionSmallest = "Is one compacted MESSAGES_SNAPSHOT the smallest artifact that can be frozen without importing state?"

// listedSentences is how many sentences an answer has as a paragraph. A longer answer
// is a list of sentences.
const listedSentences = 5

// questions writes the answers to P20 §14 and §14.3.
func questions(b *bytes.Buffer, answers []gate.Answer, t refreezingCounts) {
	fmt.Fprintf(b, "## Questions and answers\n\n%s\n\n", done(answers))
	b.WriteString("| | question of P20 §14 and §14.3 | answer |\n|---|---|---|\n")
	for i, a := range answers {
		question := a.Question
		if question == gate.QuestionAnchors {
			question += " (in the words of the plan: *Is a required identity anchor too rich?*)"
		}
		fmt.Fprintf(b, "| %d | %s | %s |\n", i+1, question, a.Word)
	}
	b.WriteString("\n")
	for i, a := range answers {
		text := a.Text
		switch a.Question {
		case gate.QuestionParent:
			text += " The key remains optional in v1. The sample lane contains a run with a parent, [with-parent](" + sampleLane + ")."
		case gate.QuestionState:
			text += " " + t.withoutState()
		}
		if sentences := strings.Split(text, ". "); len(sentences) > listedSentences {
			text = "\n\n- " + strings.Join(sentences, ".\n- ")
		} else {
			text = " " + text
		}
		fmt.Fprintf(b, "**%d. %s.**%s\n\n", i+1, strings.ToUpper(a.Word[:1])+a.Word[1:], text)
	}
}

// refreezingCounts counts the results of projecting runs again from fewer events.
type refreezingCounts struct {
	artifacts, sameWithoutState int
	// withState counts the artifacts of runs with a state or activity event.
	withState   int
	oneSnapshot sameCount // runs with one snapshot
	chosen      sameCount // runs with several snapshots, the last one chosen
	built       sameCount
	// dispensable counts the runs with one snapshot that still produce an artifact
	// without one of the three events.
	dispensable int
	// state counts the contents of state and activity events.
	state stateCounts
}

// sameCount counts artifacts, and the artifacts that are the same if only the events of
// the envelope are projected.
type sameCount struct{ total, same int }

func (a *sameCount) add(same bool) {
	a.total++
	if same {
		a.same++
	}
}

func countRefreezings(harnesses []harness) (t refreezingCounts) {
	for _, h := range harnesses {
		for _, s := range h.details {
			t.state.add(s.state)
			if s.refreezing == nil {
				continue
			}
			t.artifacts++
			if s.refreezing.sameWithoutState {
				t.sameWithoutState++
			}
			if s.state.count > 0 {
				t.withState++
			}
			switch {
			case s.refreezing.origin == project.Built:
				t.built.add(s.refreezing.sameFromEnvelope)
			case len(s.run.Snapshots) > 1:
				t.chosen.add(s.refreezing.sameFromEnvelope)
			default:
				t.oneSnapshot.add(s.refreezing.sameFromEnvelope)
				if s.refreezing.dispensable > 0 {
					t.dispensable++
				}
			}
		}
	}
	return t
}

// withoutState returns the sentences about state and activity.
func (t refreezingCounts) withoutState() string {
	return fmt.Sprintf("Every run with an artifact was also projected without its STATE_* and ACTIVITY_* events: %d of %d artifacts are identical; %d of these runs had such events. Artifacts omit these events, %d bytes in total. %d runs have a state that is not empty. In %d runs, state or activity contains a string that the artifact does not contain; in %d of these runs, such a string has several words.",
		t.sameWithoutState, t.artifacts, t.withState, t.state.bytes, t.state.nonempty, t.state.strings, t.state.multiWord)
}

func (t refreezingCounts) smallest() gate.Answer {
	a := gate.Answer{Question: questionSmallest, Word: "no"}
	if t.oneSnapshot.total > 0 && t.oneSnapshot.same == t.oneSnapshot.total && t.dispensable == 0 && t.sameWithoutState == t.artifacts {
		a.Favorable, a.Word = true, "yes"
	}
	a.Text = fmt.Sprintf("Every run with an artifact was projected again from only RUN_STARTED, the snapshot and the terminal event. Identical artifacts of runs with one snapshot: %d of %d; of runs with several snapshots, with the last one chosen: %d of %d. None of the three events can be omitted: without one of them, %d of %d runs with one snapshot still produce an artifact of that snapshot. A built snapshot needs the stream: from only RUN_STARTED and the terminal event, %d of %d built artifacts are identical. Here, *smallest* means the fewest events; answer 5 compares bytes.",
		t.oneSnapshot.same, t.oneSnapshot.total, t.chosen.same, t.chosen.total, t.dispensable, t.oneSnapshot.total, t.built.same, t.built.total)
	return a
}

// evidence writes the table of evidence, with one row for each answer and file.
func evidence(b *bytes.Buffer, g gate.Gate) {
	b.WriteString("## Evidence\n\nFor each answer, this table has one run of each integration that supports it. The byte ranges of the response file include both ends; the first byte of the file is byte 0.\n\n| answer | file | first and last byte |\n|---|---|---|\n")
	for number, a := range g.Answers {
		list := a.Evidence
		for i := 0; i < len(list); {
			file := list[i].File
			var parts []string
			for ; i < len(list) && list[i].File == file; i++ {
				parts = append(parts, fmt.Sprintf("%d–%d (%s)", list[i].Offset, list[i].Offset+list[i].Bytes-1, list[i].Part))
			}
			fmt.Fprintf(b, "| %d | [%s](%s) | %s |\n", number+1, relative(file), relative(file), strings.Join(parts, ", "))
		}
	}
	b.WriteString("\n")
}
