"""Counts the figures of the page from the captures, section by section."""

import json
from collections import Counter
from typing import Any, Callable

import contract
import figures
import projection
import rebuilt
from capture import TERMINAL, Event
from figures import DISCOVERY, ENDS, AnalyzedRun, Differences, Integration
from page import Prose, Table

VERDICTS = ("exact", "reduced", "chosen", "incomplete", "built", "refused")


def listed(names: list[str]) -> str:
    """Joins names as the page does: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def all_some_none(part: int, whole: int, answers: tuple[str, str, str]) -> str:
    """Returns the answer for all, some or none."""
    return answers[0] if part == whole else answers[1] if part else answers[2]


class Counts:
    def __init__(self) -> None:
        self.all = figures.integrations()
        self.captures = [each for integration in self.all for each in integration.captures]
        self.runs = [entry for integration in self.all for entry in integration.runs]
        self.with_artifact = [entry for entry in self.runs if entry.artifact]
        self.usable = [entry for entry in self.runs if entry.usable]
        self.scenarios = [scenario["name"] for scenario in figures.scenarios()]
        self.needed = [scenario["name"] for scenario in figures.scenarios() if scenario.get("needed")]
        self.found: list[Prose | Table] = []

    def checks(self) -> list[Prose | Table]:
        """Returns every figure with its place on the page."""
        self.found = []
        self.beginning()
        self.qualification()
        self.answers()
        self.verdicts()
        self.emitted()
        self.chosen_ids()
        self.state()
        self.packages()
        self.others()
        self.rebuilt()
        self.about_contract()
        self.not_run()
        self.evidence()
        return self.found

    def prose(self, section: str, words: str, *values: Any) -> None:
        self.found.append(Prose(section, words, values))

    def table(self, section: str, header: str, rows: list[list[Any]]) -> None:
        self.found.append(Table(section, header, rows))

    # The beginning of the page

    def qualifies(self, integration: Integration) -> bool:
        runs = integration.of(self.needed)
        return {entry.scenario for entry in runs} == set(self.needed) and all(entry.qualifies for entry in runs)

    def beginning(self) -> None:
        section = "The discovery gate"
        names = listed([f"{i.name} {i.version}" for i in self.all if self.qualifies(i)])
        self.prose(section, "with scripted models, the following integrations qualify: {}.\n", names)
        sizes = len(self.runs), len(self.captures), len(self.all)
        self.prose(section, "with {} runs in {} captures of {} real integrations", *sizes)

    def qualification(self) -> None:
        section = "Which integrations qualify"
        self.prose(section, "The needed scenarios are plain text conversations: {}. A run", listed(self.needed))
        rows = []
        for i in self.all:
            runs = i.of(self.needed)
            findings = [finding for entry in runs for finding in figures.reasons(entry)]
            counts = Counter(figures.shortfall(finding) for finding in findings)
            why = frozenset(f"{reason} in {count} of {len(runs)} scenarios" for reason, count in counts.items())
            changes = frozenset(figures.required_change(finding) for finding in findings)
            rows.append([i.name, i.version, "yes" if self.qualifies(i) else "no", why or "", changes or ""])
        header = "| integration | version | qualifies | why not | required change |"
        self.table(section, header, rows)

    # The answers

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

    def count(self, verdict: str) -> int:
        return sum(entry.verdict == verdict for entry in self.runs)

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

    def ended(self, runs: list[AnalyzedRun], type: str) -> list[int]:
        """The numbers of snapshots of the runs with this terminal event; 2 means several."""
        return [min(len(j.run.snapshots), 2) for j in runs if j.run.terminal and j.run.terminal.type == type]

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

    def extremes(self) -> tuple[AnalyzedRun, AnalyzedRun]:
        """The smallest and the largest run with an artifact."""
        def size(entry: AnalyzedRun) -> int:
            return entry.run.bytes

        return min(self.with_artifact, key=size), max(self.with_artifact, key=size)

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

    # The integrations

    def verdicts(self) -> None:
        rows = []
        for i in self.all:
            counts = Counter(entry.verdict for entry in i.runs)
            errors = sum(each.http_error for each in i.captures)
            rows.append([i.name, len(i.runs), *(counts[verdict] for verdict in VERDICTS), errors])
        header = "| integration | runs | exact | reduced | chosen | incomplete | built | refused | HTTP error |"
        self.table("Runs by verdict", header, rows)

    def emitted(self) -> None:
        rows = []
        for i in self.all:
            made = [entry for entry in i.runs if entry.artifact]
            counts = [Counter(self.ended(i.runs, type)) for type in TERMINAL]
            sources = Counter(projection.times(entry.run)[0] for entry in i.runs)
            implausible = sum(map(figures.implausible, i.runs))
            times = [f"{source} {sources[source]}" for source in ("event", "arrival") if sources[source]]
            rows.append([
                i.name,
                *(f"{count[0]} / {count[1]} / {count[2]}" for count in counts),
                *("{} of {}".format(*kept) if kept[1] else "–" for kept in i.kept()),
                ", ".join(times + [f"implausible timestamp {implausible}"] * bool(implausible)),
                f"{sum(entry.below_run for entry in made)} of {len(made)}",
                f"{sum(entry.below_envelope for entry in made)}"
                f" ({sum(entry.below_envelope_compact for entry in made)})",
            ])
        header = (
            "| integration | finished runs with no / one / several snapshots | failed runs with no / one / several"
            " | streamed ids in the snapshot | request ids in the snapshot | time source | artifact smaller than run"
            " | smaller than envelope (without white space) |"
        )
        self.table("Snapshots, ids, times and sizes", header, rows)

    def chosen_ids(self) -> None:
        rows = []
        for i in self.all:
            requests = [each for each in i.captures if figures.without_ids(each)]
            errors = sum(each.http_error for each in requests)

            def of(*places: str) -> list[str]:
                return [id for entry in i.runs for place in places for id in entry.own_ids[place]]

            started, ended = (of(*(place + key for key in ENDS)) for place in ("started ", "terminal "))
            every = [*started, *ended, *of("stream", "snapshots")]
            rows.append([
                i.name,
                f"{len(requests) - errors} / {errors}",
                *map(figures.shapes, (started, ended, of("stream"), of("snapshots"))),
                f"{figures.valid_references(every)} of {len(every)}" if every else "–",
            ])
        header = (
            "| integration | requests without ids: run / HTTP error | threadId and runId in RUN_STARTED"
            " | other ids in the terminal event | message ids in the stream | message ids in snapshots"
            " | valid references |"
        )
        self.table("Ids chosen by integrations", header, rows)

    def state(self) -> None:
        rows = []
        for i in self.all:
            keys = [figures.state_keys(entry.run) for entry in i.runs]
            rows.append([
                i.name,
                f"{sum(bool(entry.state_events) for entry in i.runs)} of {len(i.runs)}",
                figures.state_bytes(i.runs),
                sum(map(bool, keys)),
                ", ".join(f"`{key}`" for key in sorted(set().union(*keys))) or "–",
                "{} ({})".format(*figures.runs_with_omitted_strings(i.runs)),
            ])
        header = (
            "| integration | runs with such events | bytes | runs with a state that is not empty | keys of the state"
            " | runs with a string that the artifact does not contain (with several words) |"
        )
        self.table("Contents of state and activity events", header, rows)

    def packages(self) -> None:
        rows = []
        for i in self.all:
            days = sorted(each.manifest["started_at"][:10] for each in i.captures)
            rows.append([
                f"{i.name} {i.version}",
                f"[{i.harness}](harness/{i.harness}/README.md)",
                ", ".join(f"{name} {version}" for name, version in sorted(figures.pins(i.harness))),
                " to ".join(dict.fromkeys((days[0], days[-1]))),
            ])
        self.table("Packages", "| integration | harness | pinned packages | captured |", rows)

    def others(self) -> None:
        def cell(changes: dict[str, list[str]]) -> Any:
            return frozenset(f"{what} ({', '.join(where)})" for what, where in changes.items()) or ""

        rows = []
        for i in self.all:
            others = [entry for entry in i.runs if entry.scenario not in self.needed]
            lacks = figures.by_scenario((figures.shortfall(f), j.scenario) for j in others for f in figures.reasons(j))
            seen = [entry for entry in i.runs if entry.run.snapshots]
            made = [entry for entry in seen if entry.artifact]
            omits = figures.by_scenario((figures.omission(f), j.scenario) for j in made for f in j.result.omissions)
            rows.append([i.name, cell(lacks), cell(omits) if seen else "unknown: no snapshot was emitted"])
        header = (
            "| integration | why runs of the other scenarios have no artifact of a usable snapshot"
            " | what artifacts omit from the snapshot |"
        )
        self.table("Results of the other scenarios", header, rows)

    # The messages rebuilt from the events

    def rebuilt(self) -> None:
        section = "Messages rebuilt without the snapshot"
        found = [[(entry, rebuilt.of(entry.run)) for entry in i.runs if entry.run.snapshots] for i in self.all]
        every = [pair for pairs in found for pair in pairs]
        self.prose(
            section,
            "**The same messages in {} of {} runs**, in {} of them with the same ids and names too.",
            sum(one.agrees for _, one in every),
            len(every),
            sum(one.identical for _, one in every),
        )
        rows = []
        for i, pairs in zip(self.all, found):
            each = [one for _, one in pairs]
            runs = Counter(words for one in each for words in one.deviations)
            if each:
                rows.append([
                    i.name,
                    len(each),
                    sum(one.agrees for one in each),
                    sum(one.identical for one in each),
                    *(sum(getattr(one, name) for one in each) for name in ("same", "other_id", "other_name")),
                    frozenset(f"{words}: {count}" for words, count in runs.items()) or "none",
                ])
        header = (
            "| integration | runs with a snapshot | all messages the same | ids and names too"
            " | messages that are the same | with another id | with another name"
            " | differences, and in how many runs |"
        )
        self.table(section, header, rows)
        rows = []
        for words in rebuilt.DEVIATIONS:
            runs = [(entry, one) for entry, one in every if one.deviations[words]]
            if runs:
                name = runs[0][0].run.capture.name
                times = sum(one.deviations[words] for _, one in runs)
                rows.append([words, len(runs), times, f"[{name}](captures/{name}/response.sse)", None])
        self.table(section, "| difference | runs | times | first run | likely reason |", rows)

    # The contract

    def about_contract(self) -> None:
        section = "Implications for the contract"
        limit = contract.ASSAY_LIMITS["content"]
        self.prose(section, "Assay's mapper {} accepts at most {} characters per message.", contract.mapper(), limit)
        self.prose("Definitions", "- **Longer than {} characters**:", limit)
        long = [entry for entry in self.runs if entry.scenario == "long-reply"]
        for words, runs in (
            ("realistic length ([how the lengths were computed](harness/README.md)): ", long),
            ("In all scenarios, most of which have lengths that we chose: ", self.runs),
        ):
            made = [entry.artifact for entry in runs if entry.artifact]
            lengths = [len(contract.trim(message["content"])) for artifact in made for message in artifact["messages"]]
            self.prose(
                section,
                words + "{} of {} messages in artifacts are longer, the longest has {} characters, and the mapper"
                " accepts {} of {} artifacts.",
                sum(length > limit for length in lengths),
                len(lengths),
                max(lengths),
                sum(not contract.validate(artifact, contract.ASSAY_LIMITS) for artifact in made),
                len(made),
            )
        longer = {
            f"`{entry.scenario}`"
            for entry in self.with_artifact
            if any(len(contract.trim(content)) > limit for content in entry.contents)
        }
        self.prose(section, "The scenarios with longer messages are {}.\n", frozenset(longer))

        kept = [i.kept()[0] for i in self.all]
        words = "In runs with a snapshot, {} of {} streamed ids are in the snapshot."
        self.prose(section, words, *map(sum, zip(*kept)))
        self.prose(
            section,
            "Integrations that keep all of them: {}; that replace all of them: {}; that keep some: {}.",
            sum(0 < part == whole for part, whole in kept),
            sum(0 == part < whole for part, whole in kept),
            sum(0 < part < whole for part, whole in kept),
        )
        for words, runs in (
            ("In `long-reply`, whose texts have line breaks, tabs and indentation like Markdown: ", long),
            ("In all scenarios: ", self.runs),
        ):
            total = sum((entry.differences for entry in runs), Differences())
            self.prose(
                section,
                words + "{} runs with {} messages that have the same text in both, {} of them with another id and {}"
                " with another name; {} messages differ in white space, {} in HTML escapes, {} in other text;"
                " only in the snapshot: {}, only in the stream: {}.",
                *total.counts(),
            )
        rows = [
            [f"{i.name} ({entry.verdict})", *entry.sizes]
            for i in self.all
            for entry in i.of(["one-turn"])
            if entry.artifact
        ]
        self.table(section, "| integration | captured run | envelope | artifact | without white space |", rows)

    # The scenarios that could not be run, and the evidence

    def not_run(self) -> None:
        rows = []
        for i in self.all:
            expected = json.loads((DISCOVERY / "harness" / i.harness / "expected.json").read_bytes())
            rows += [[i.name, each["name"], each["note"]] for each in expected["scenarios"] if "note" in each]
        self.table("Scenarios that could not be run", "| integration | scenario | reason |", rows)

    def evidence(self) -> None:
        """For each answer, the first matching run of each integration and the events of its evidence."""
        shows: dict[int, tuple[Callable[[AnalyzedRun], Any], Callable[[AnalyzedRun], list[Event]]]] = {
            1: (lambda j: j.usable, lambda j: j.run.snapshots),
            2: (lambda j: j.artifact and j.run.snapshots, lambda j: j.envelope_events),
            3: (lambda j: j.artifact and len(j.run.snapshots) > 1, lambda j: j.run.snapshots),
            4: (lambda j: figures.text(j.run.capture.request.get("parentRunId")), lambda j: [j.run.started]),
            5: (lambda j: j in self.extremes(), lambda j: j.envelope_events),
            6: (lambda j: j.artifact and j.events_with_own_ids, lambda j: j.events_with_own_ids),
            7: (lambda j: j.qualifies and not j.state_events, lambda j: j.envelope_events),
        }
        rows = []
        for answer, (shown, events) in shows.items():
            for i in self.all:
                for entry in [entry for entry in i.runs if shown(entry)][:1]:
                    name = f"captures/{entry.run.capture.name}/response.sse"
                    rows.append([answer, f"[{name}]({name})", ", ".join(map(self.place, events(entry)))])
        self.table("Evidence", "| answer | file | first and last byte |", rows)

    def place(self, event: Event) -> str:
        name = "terminal" if event.type in TERMINAL else event.type.lower()
        return f"{event.start}–{event.stop - 1} ({name})"
