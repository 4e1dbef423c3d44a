package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/project"
)

// askSmallest is the question of P20 §14 that takes an experiment.
const askSmallest = "Is one compacted MESSAGES_SNAPSHOT the smallest artifact that can be frozen without importing state?"

// questions answers P20 §14 and §14.3.
func questions(b *bytes.Buffer, answers []gate.Answer, t trials) {
	b.WriteString("## The questions\n\n| | question of P20 §14 and §14.3 | answer |\n|---|---|---|\n")
	for i, a := range answers {
		fmt.Fprintf(b, "| %d | %s | %s |\n", i+1, a.Question, a.Word)
	}
	b.WriteString("\n")
	for i, a := range answers {
		text := a.Text
		switch a.Question {
		case gate.QuestionParent:
			text += " The key stays optional in v1. The sample lane has a fixture with a parent, [with-parent](" + sampleLane + ")."
		case gate.QuestionState:
			text += " " + t.withoutState()
		}
		fmt.Fprintf(b, "**%d. %s.** %s\n\n", i+1, strings.ToUpper(a.Word[:1])+a.Word[1:], text)
	}
}

// trials counts what became of artifacts that were made again from fewer events.
type trials struct {
	artifacts, stateless int
	// carrying counts the artifacts of runs with a state or activity event.
	carrying int
	one      alone // of runs with one snapshot
	chosen   alone // of the last snapshot of several
	built    alone
	// spared counts the artifacts of one snapshot that were still made without one of
	// the three events.
	spared int
	// lost counts what state and activity events hold.
	lost stateCounts
}

// alone counts artifacts, and those that the events of the envelope alone give.
type alone struct{ all, same int }

func (a *alone) add(same bool) {
	a.all++
	if same {
		a.same++
	}
}

func trialsOf(lanes []lane) (t trials) {
	for _, l := range lanes {
		for _, s := range l.seen {
			t.lost.add(s.state)
			if s.trial == nil {
				continue
			}
			t.artifacts++
			if s.trial.stateless {
				t.stateless++
			}
			if s.state.count > 0 {
				t.carrying++
			}
			switch {
			case s.trial.origin == project.Built:
				t.built.add(s.trial.alone)
			case len(s.run.Snapshots) > 1:
				t.chosen.add(s.trial.alone)
			default:
				t.one.add(s.trial.alone)
				if s.trial.spared > 0 {
					t.spared++
				}
			}
		}
	}
	return t
}

// withoutState says what the experiment shows about state and activity.
func (t trials) withoutState() string {
	return fmt.Sprintf("Every run with an artifact was also projected again without its STATE_* and ACTIVITY_* events: %d of %d artifacts are the same, byte for byte; %d of these runs had such events. What artifacts leave out with them is %d bytes in all. A state that is not empty is in %d runs; %d runs have a string in state or activity that is nowhere in the artifact, %d of them one of several words.",
		t.stateless, t.artifacts, t.carrying, t.lost.bytes, t.lost.filled, t.lost.strings, t.lost.texts)
}

func (t trials) smallest() gate.Answer {
	a := gate.Answer{Question: askSmallest, Word: "no"}
	if t.one.all > 0 && t.one.same == t.one.all && t.spared == 0 && t.stateless == t.artifacts {
		a.Favorable, a.Word = true, "yes"
	}
	a.Text = fmt.Sprintf("Every run with an artifact was projected again from RUN_STARTED, the snapshot and the terminal event alone. Of runs with one snapshot, %d of %d artifacts are the same, byte for byte; of those with several, of which the last was chosen, %d of %d. None of the three events can be left out: without one of them, an emitted snapshot still gave an artifact in %d of %d runs. A snapshot that has to be built needs the stream: from RUN_STARTED and the terminal event alone, %d of %d built artifacts are the same. Smallest is by the events that it takes; answer 5 counts bytes.",
		t.one.same, t.one.all, t.chosen.same, t.chosen.all, t.spared, t.one.all, t.built.same, t.built.all)
	return a
}

// evidence lists pieces of captures, those of one file together.
func evidence(b *bytes.Buffer, g gate.Gate) {
	b.WriteString("## Evidence\n\nFor each answer one run of each integration that shows it, by the bytes of its response file; the first byte is 0.\n\n| answer | file | bytes, the first and the last |\n|---|---|---|\n")
	for number, a := range g.Answers {
		list := a.Evidence
		for i := 0; i < len(list); {
			file := list[i].File
			var parts []string
			for ; i < len(list) && list[i].File == file; i++ {
				parts = append(parts, fmt.Sprintf("%d–%d (%s)", list[i].Offset, list[i].Offset+list[i].Bytes-1, list[i].Part))
			}
			fmt.Fprintf(b, "| %d | [%s](%s) | %s |\n", number+1, short(file), short(file), strings.Join(parts, ", "))
		}
	}
	b.WriteString("\n")
}
