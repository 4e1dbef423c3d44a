"""Answers the questions of P20 §14 and counts the figures of the answers."""

from collections import Counter
from typing import Any

import figures
import projection
from capture import TERMINAL
from counted import Counted
from figures import ENDS


def all_some_none(part: int, whole: int, answers: tuple[str, str, str]) -> str:
    """Returns the answer for all, some or none."""
    return answers[0] if part == whole else answers[1] if part else answers[2]


class Answers(Counted):
    def answers(self) -> None:
        answers = [
            self.snapshots_exist(),
            self.envelopes_kept(),
            self.one_usable(),
            self.parents(),
            self.smaller(),
            self.anchors(),
            self.without_state(),
            self.smallest(),
        ]
        section = "Questions and answers"
        for number, answer in enumerate(answers, 1):
            self.prose(section, f"\n**{number}. {{}}.**", answer.capitalize())
        rows = [[number, None, answer] for number, answer in enumerate(answers, 1)]
        self.table(section, "| | question of P20 §14 and §14.3 | answer |", rows)

    def expect(self, words: str, *values: Any) -> None:
        self.prose("Questions and answers", words, *values)

    def snapshots_exist(self) -> str:
        integrations = [i for i in self.all if any(entry.usable for entry in i.runs)]
        self.expect(
            "Runs that produce an artifact of the one snapshot they emitted: {} of {}, {} of them with its messages"
            " unchanged. Integrations with such a run: {} of {}.",
            len(self.usable),
            len(self.runs),
            self.count("exact"),
            len(integrations),
            len(self.all),
        )
        only = {
            i.name: sorted({entry.scenario for entry in i.runs if entry.usable})
            for i in integrations
            if not self.qualifies(i)
        }
        self.expect(
            "Some of these runs are from integrations that do not qualify: {}. Runs",
            "; ".join(f"{name} in {', '.join(where)}" for name, where in only.items()),
        )
        self.expect("Runs whose snapshot lacks streamed text are not counted; there are {}.", self.count("incomplete"))
        return "yes" if self.usable else "no"

    def envelopes_kept(self) -> str:
        intact = sum(each.intact for each in self.captures)
        broken = sum(each.manifest["end"] != "eof" for each in self.captures)
        self.expect(
            "Captures whose files match the sizes and digests in their manifest: {} of {}. {} of them {} truncated.",
            intact,
            len(self.captures),
            "One" if broken == 1 else str(broken),
            "is" if broken == 1 else "are",
        )
        return "yes" if intact == len(self.captures) else "no"

    def one_usable(self) -> str:
        finished, failed = (Counter(self.ended(self.runs, type)) for type in TERMINAL)
        words = ": one {}, none {}, several {}."
        self.expect(
            "Runs that ended with RUN_FINISHED, by number of snapshots" + words, finished[1], finished[0], finished[2]
        )
        self.expect("Runs that ended with RUN_ERROR" + words, failed[1], failed[0], failed[2])
        incomplete = Counter(len(j.run.snapshots) == 1 for j in self.runs if j.verdict == "incomplete")
        self.expect("no streamed text is found to be missing from it: {}.\n", len(self.usable))
        self.expect("Runs whose one snapshot produces an artifact but lacks streamed text: {}.", incomplete[True])
        self.expect(
            "Runs with several snapshots whose last one produces an artifact, with no streamed text found to be"
            " missing: {}; with streamed text missing: {}.",
            self.count("chosen"),
            incomplete[False],
        )
        return all_some_none(len(self.usable), len(self.runs), ("yes", "not every one", "no"))

    def parents(self) -> str:
        def has(value: Any) -> bool:
            return isinstance(value, dict) and figures.text(value.get("parentRunId"))

        asked = [entry.run for entry in self.runs if has(entry.run.capture.request)]
        others = [entry.run for entry in self.runs if not has(entry.run.capture.request)]
        named = sum(has(run.started.value) for run in asked)
        copied = sum(has(run.started.value.get("input")) for run in asked)
        self.expect(
            "Runs whose request named a parent: {}. RUN_STARTED names a parent in {} of them; the copy of the"
            " request in RUN_STARTED names one in {} of them.",
            len(asked),
            named,
            copied,
        )
        invented = sum(has(run.started.value) for run in others)
        self.expect("Of the {} other runs, {} name a parent in RUN_STARTED.", len(others), invented)
        return "absent" if named + invented == 0 else "common" if 2 * named > len(asked) else "incidental"

    def smaller(self) -> str:
        below = [entry for entry in self.with_artifact if entry.below_run]
        self.expect(
            "Canonical artifacts that are smaller than the captured run: {} of {}; among those of a usable snapshot:"
            " {} of {}.",
            len(below),
            len(self.with_artifact),
            sum(entry.usable for entry in below),
            len(self.usable),
        )
        below_envelope = sum(entry.below_envelope for entry in self.with_artifact)
        self.expect(
            "Artifacts that are smaller than the three events of the bounded envelope: {} of {}; without white"
            " space: {}.",
            below_envelope,
            len(self.with_artifact),
            sum(entry.below_envelope_compact for entry in self.with_artifact),
        )
        for words, entry in zip(("Smallest run: ", "Largest run: "), self.extremes()):
            self.expect(
                words + "{} (run {} bytes, envelope {} bytes, artifact {} bytes, without white space {} bytes).",
                f"discovery/captures/{entry.run.capture.name}",
                *entry.sizes,
            )
        return all_some_none(below_envelope, len(self.with_artifact), ("yes", "in part", "no"))

    def anchors(self) -> str:
        requests = [each for each in self.captures if figures.without_ids(each)]
        answered = sum(not each.http_error for each in requests)
        self.expect(
            "Requests without one of the two: {}; answered with a run: {}, with an HTTP error: {}.",
            len(requests),
            answered,
            len(requests) - answered,
        )
        ids = [entry.own_ids for entry in self.runs]
        places = [place + key for place in ("started ", "terminal ") for key in ENDS]
        own = [id for place in places for each in ids for id in each[place]]
        self.expect(
            "Ids that integrations chose: {} threadId and {} runId in RUN_STARTED, {} threadId and {} runId in terminal"
            " events that name another thread or run; their shapes: {}.\n- Valid references under the contract: {} of {}.",
            *(sum(len(each[place]) for each in ids) for place in places),
            ", ".join(dict.fromkeys(map(figures.shape, own))),
            figures.valid_references(own),
            len(own),
        )
        empty = [j for j in self.runs if not all(figures.text(j.run.started.value.get(key)) for key in ENDS)]
        empty = [entry for entry in empty if entry.verdict == "refused"]
        self.expect("Runs refused because an id in RUN_STARTED is missing or empty: {}.", len(empty))
        asked = [
            entry
            for entry in self.runs
            if entry not in empty and not any(entry.own_ids["started " + key] for key in ENDS)
        ]
        fine = [j for j in asked if figures.valid_references(j.run.started.value[key] for key in ENDS) == len(ENDS)]
        words = "Other runs, all with the ids of their request: {}, {} of them with valid ids;"
        self.expect(words, len(asked), len(fine))
        return "no" if figures.valid_references(own) == len(own) and len(fine) == len(asked) else "yes"

    def without_state(self) -> str:
        qualified = [entry for entry in self.runs if entry.qualifies]
        stateless = [entry for entry in qualified if not entry.state_events]
        by = Counter(i.name for i in self.all for entry in i.runs if entry in stateless)
        self.expect(
            "Runs with a STATE_* or ACTIVITY_* event: {} of {}.",
            sum(bool(entry.state_events) for entry in self.runs),
            len(self.runs),
        )
        self.expect(
            "Runs of all scenarios that qualify by the same rule: {}, {} of them without such an event ({}).",
            len(qualified),
            len(stateless),
            ", ".join(f"{count} of {name}" for name, count in by.items()),
        )
        same = sum(
            entry.same_from([e for e in entry.run.events if e not in entry.state_events])
            for entry in self.with_artifact
        )
        self.expect(
            "without its STATE_* and ACTIVITY_* events: {} of {} artifacts are identical; {} of these runs had such"
            " events.",
            same,
            len(self.with_artifact),
            sum(bool(entry.state_events) for entry in self.with_artifact),
        )
        self.expect("Artifacts omit these events, {} bytes in total.", figures.state_bytes(self.runs))
        self.expect(
            "{} runs have a state that is not empty.\n- In {} runs, state or activity contains a string that the artifact"
            " does not contain; in {} of these runs, such a string has several words.",
            sum(bool(figures.state_keys(entry.run)) for entry in self.runs),
            *figures.runs_with_omitted_strings(self.runs),
        )
        return "yes" if same == len(self.with_artifact) else "no"

    def smallest(self) -> str:
        one = [entry for entry in self.with_artifact if len(entry.run.snapshots) == 1]
        several = [entry for entry in self.with_artifact if len(entry.run.snapshots) > 1]
        built = [entry for entry in self.with_artifact if entry.verdict == "built"]
        same = [sum(entry.same_from(entry.envelope_events) for entry in runs) for runs in (one, several, built)]
        self.expect(
            "Identical artifacts of runs with one snapshot: {} of {}; of runs with several snapshots, with the last one"
            " chosen: {} of {}.",
            same[0],
            len(one),
            same[1],
            len(several),
        )
        # Without RUN_STARTED there is no run.
        fewer = 0
        for entry in one:
            started, snapshot, terminal = entry.envelope_events
            pairs = [started, snapshot], [started, terminal]
            fewer += any(projection.emitted(entry.run.only(events)).artifact for events in pairs)
        words = "without one of them, {} of {} runs with one snapshot still produce an artifact of that snapshot."
        self.expect(words, fewer, len(one))
        self.expect(
            "from only RUN_STARTED and the terminal event, {} of {} built artifacts are identical.", same[2], len(built)
        )
        return "yes" if same[:2] == [len(one), len(several)] and fewer == 0 else "no"
