"""The figures of the page, counted from the captures, by section."""

import json
from collections import Counter
from typing import Any, Callable

import contract
import figures
import projection
from capture import TERMINAL, Event
from figures import DISCOVERY, ENDS, Differences, Integration, Judged
from page import Prose, Table

VERDICTS = ("exact", "reduced", "chosen", "incomplete", "built", "refused")


def listed(names: list[str]) -> str:
    """Names as the page lists them: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def among(part: int, whole: int, answers: tuple[str, str, str]) -> str:
    """The answer if all, some or none are so."""
    return answers[0] if part == whole else answers[1] if part else answers[2]


class Counts:
    def __init__(self) -> None:
        self.all = figures.integrations()
        self.captures = [each for integration in self.all for each in integration.captures]
        self.runs = [judged for integration in self.all for judged in integration.runs]
        self.made = [judged for judged in self.runs if judged.artifact]
        self.usable = [judged for judged in self.runs if judged.usable]
        self.scenarios = [scenario["name"] for scenario in figures.scenarios()]
        self.needed = [scenario["name"] for scenario in figures.scenarios() if scenario.get("needed")]
        self.found: list[Prose | Table] = []

    def checks(self) -> list[Prose | Table]:
        """Every figure, with its place on the page."""
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
        self.about_contract()
        self.not_asked()
        self.evidence()
        return self.found

    def prose(self, section: str, words: str, *values: Any) -> None:
        self.found.append(Prose(section, words, values))

    def table(self, section: str, header: str, rows: list[list[Any]]) -> None:
        self.found.append(Table(section, header, rows))

    # The beginning

    def qualifies(self, integration: Integration) -> bool:
        runs = integration.of(self.needed)
        return {judged.scenario for judged in runs} == set(self.needed) and all(judged.qualifies for judged in runs)

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
            findings = [finding for judged in runs for finding in figures.reasons(judged)]
            counts = Counter(figures.lacks(finding) for finding in findings)
            why = frozenset(f"{reason} in {count} of {len(runs)} scenarios" for reason, count in counts.items())
            changes = frozenset(figures.change(finding) for finding in findings)
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
            self.prose(section, f"\n**{number}. {{}}.** ", answer.capitalize())
        rows = [[number, None, answer] for number, answer in enumerate(answers, 1)]
        self.table(section, "| | question of P20 §14 and §14.3 | answer |", rows)

    def say(self, words: str, *values: Any) -> None:
        self.prose("Questions and answers", words, *values)

    def snapshots_exist(self) -> str:
        integrations = [i for i in self.all if any(judged.usable for judged in i.runs)]
        self.say(
            "Runs that produce an artifact of the one snapshot they emitted: {} of {}, {} of them with its messages"
            " unchanged. Integrations with such a run: {} of {}.",
            len(self.usable),
            len(self.runs),
            self.count("exact"),
            len(integrations),
            len(self.all),
        )
        only = {
            i.name: sorted({judged.scenario for judged in i.runs if judged.usable})
            for i in integrations
            if not self.qualifies(i)
        }
        self.say(
            "Such runs of integrations that do not qualify: {}. Runs",
            "; ".join(f"{name} in {', '.join(where)}" for name, where in only.items()),
        )
        self.say("Runs whose snapshot lacks streamed text are not counted; there are {}.", self.count("incomplete"))
        return "yes" if self.usable else "no"

    def count(self, verdict: str) -> int:
        return sum(judged.verdict == verdict for judged in self.runs)

    def envelopes_kept(self) -> str:
        intact = sum(each.intact for each in self.captures)
        broken = sum(each.manifest["end"] != "eof" for each in self.captures)
        self.say(
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
        self.say("Runs that ended with RUN_FINISHED, by number of snapshots" + words, finished[1], finished[0], finished[2])
        self.say("Runs that ended with RUN_ERROR" + words, failed[1], failed[0], failed[2])
        incomplete = Counter(len(j.run.snapshots) == 1 for j in self.runs if j.verdict == "incomplete")
        self.say("no streamed text is found to be missing from it: {}. Runs", len(self.usable))
        self.say("Runs whose one snapshot produces an artifact but lacks streamed text: {}.", incomplete[True])
        self.say(
            "Runs with several snapshots whose last one produces an artifact, with no streamed text found to be missing:"
            " {}; with streamed text missing: {}.",
            self.count("chosen"),
            incomplete[False],
        )
        return among(len(self.usable), len(self.runs), ("yes", "not every one", "no"))

    def ended(self, runs: list[Judged], type: str) -> list[int]:
        """How many snapshots the runs have that this terminal event ended; 2 is several."""
        return [min(len(j.run.snapshots), 2) for j in runs if j.run.terminal and j.run.terminal.type == type]

    def parents(self) -> str:
        def has(value: Any) -> bool:
            return isinstance(value, dict) and figures.text(value.get("parentRunId"))

        asked = [judged.run for judged in self.runs if has(judged.run.capture.request)]
        others = [judged.run for judged in self.runs if not has(judged.run.capture.request)]
        told = sum(has(run.started.value) for run in asked)
        copied = sum(has(run.started.value.get("input")) for run in asked)
        self.say(
            "Runs whose request named a parent: {}. RUN_STARTED names a parent in {} of them, and the copy of the request"
            " in RUN_STARTED does in {}.",
            len(asked),
            told,
            copied,
        )
        invented = sum(has(run.started.value) for run in others)
        self.say("Of the {} other runs, {} name a parent in RUN_STARTED.", len(others), invented)
        return "absent" if told + invented == 0 else "common" if 2 * told > len(asked) else "incidental"

    def smaller(self) -> str:
        below = [judged for judged in self.made if judged.below_run]
        self.say(
            "Canonical artifacts that are smaller than the captured run: {} of {}; among those of a usable snapshot:"
            " {} of {}.",
            len(below),
            len(self.made),
            sum(judged.usable for judged in below),
            len(self.usable),
        )
        below_envelope = sum(judged.below_envelope for judged in self.made)
        self.say(
            "Artifacts that are smaller than the three events of the bounded envelope: {} of {}; without white space: {}.",
            below_envelope,
            len(self.made),
            sum(judged.below_envelope_dense for judged in self.made),
        )
        for words, judged in zip(("Smallest run: ", "Largest run: "), self.extremes()):
            self.say(
                words + "{} (run {} bytes, envelope {} bytes, artifact {} bytes, without white space {} bytes).",
                f"discovery/captures/{judged.run.capture.name}",
                *judged.sizes,
            )
        return among(below_envelope, len(self.made), ("yes", "in part", "no"))

    def extremes(self) -> tuple[Judged, Judged]:
        """The smallest and the largest run with an artifact."""
        return min(self.made, key=lambda judged: judged.run.bytes), max(self.made, key=lambda judged: judged.run.bytes)

    def anchors(self) -> str:
        requests = [each for each in self.captures if figures.without_ids(each)]
        answered = sum(not each.http_error for each in requests)
        self.say(
            "Requests without one of the two: {}; answered with a run: {}, with an HTTP error: {}.",
            len(requests),
            answered,
            len(requests) - answered,
        )
        ids = [judged.own_ids for judged in self.runs]
        places = [place + key for place in ("started ", "terminal ") for key in ENDS]
        own = [id for place in places for each in ids for id in each[place]]
        self.say(
            "Ids that integrations chose: {} threadId and {} runId in RUN_STARTED, {} threadId and {} runId in terminal"
            " events that name another thread or run. Their shapes: {}. Valid references under the contract: {} of {}.",
            *(sum(len(each[place]) for each in ids) for place in places),
            ", ".join(dict.fromkeys(map(figures.shape, own))),
            figures.taken(own),
            len(own),
        )
        empty = [j for j in self.runs if not all(figures.text(j.run.started.value.get(key)) for key in ENDS)]
        empty = [judged for judged in empty if judged.verdict == "refused"]
        self.say("Runs refused because an id in RUN_STARTED is missing or empty: {}.", len(empty))
        asked = [
            judged
            for judged in self.runs
            if judged not in empty and not any(judged.own_ids["started " + key] for key in ENDS)
        ]
        fine = [j for j in asked if figures.taken(j.run.started.value[key] for key in ENDS) == len(ENDS)]
        words = "All other runs have the ids of their request: {} runs, {} of them with valid ids."
        self.say(words, len(asked), len(fine))
        return "no" if figures.taken(own) == len(own) and len(fine) == len(asked) else "yes"

    def without_state(self) -> str:
        qualified = [judged for judged in self.runs if judged.qualifies]
        stateless = [judged for judged in qualified if not judged.state_events]
        by = Counter(i.name for i in self.all for judged in i.runs if judged in stateless)
        self.say(
            "Runs with a STATE_* or ACTIVITY_* event: {} of {}.",
            sum(bool(judged.state_events) for judged in self.runs),
            len(self.runs),
        )
        self.say(
            "Runs of all scenarios that qualify by the same rule: {}, {} of them without such an event ({}).",
            len(qualified),
            len(stateless),
            ", ".join(f"{count} of {name}" for name, count in by.items()),
        )
        same = sum(judged.again([e for e in judged.run.events if e not in judged.state_events]) for judged in self.made)
        self.say(
            "without its STATE_* and ACTIVITY_* events: {} of {} artifacts are identical; {} of these runs had such"
            " events.",
            same,
            len(self.made),
            sum(bool(judged.state_events) for judged in self.made),
        )
        self.say("Artifacts omit these events, {} bytes in total.", figures.state_bytes(self.runs))
        self.say(
            "{} runs have a state that is not empty. In {} runs, state or activity contains a string that the artifact"
            " does not contain; in {} of these runs, such a string has several words.",
            sum(bool(figures.state_keys(judged.run)) for judged in self.runs),
            *figures.left_out(self.runs),
        )
        return "yes" if same == len(self.made) else "no"

    def smallest(self) -> str:
        one = [judged for judged in self.made if len(judged.run.snapshots) == 1]
        several = [judged for judged in self.made if len(judged.run.snapshots) > 1]
        built = [judged for judged in self.made if judged.verdict == "built"]
        same = [sum(judged.again(judged.ends) for judged in runs) for runs in (one, several, built)]
        self.say(
            "Identical artifacts of runs with one snapshot: {} of {}; of runs with several snapshots, with the last one"
            " chosen: {} of {}.",
            same[0],
            len(one),
            same[1],
            len(several),
        )
        # Without RUN_STARTED there is no run.
        fewer = 0
        for judged in one:
            started, snapshot, terminal = judged.ends
            pairs = [started, snapshot], [started, terminal]
            fewer += any(projection.emitted(judged.run.only(events)).artifact for events in pairs)
        self.say("without one of them, {} of {} runs with one snapshot still produce an artifact of that snapshot.", fewer, len(one))
        self.say(
            "from only RUN_STARTED and the terminal event, {} of {} built artifacts are identical.", same[2], len(built)
        )
        return "yes" if same[:2] == [len(one), len(several)] and fewer == 0 else "no"

    # The integrations

    def verdicts(self) -> None:
        rows = []
        for i in self.all:
            counts = Counter(judged.verdict for judged in i.runs)
            errors = sum(each.http_error for each in i.captures)
            rows.append([i.name, len(i.runs), *(counts[verdict] for verdict in VERDICTS), errors])
        header = "| integration | runs | exact | reduced | chosen | incomplete | built | refused | HTTP error |"
        self.table("Runs by verdict", header, rows)

    def emitted(self) -> None:
        rows = []
        for i in self.all:
            made = [judged for judged in i.runs if judged.artifact]
            counts = [Counter(self.ended(i.runs, type)) for type in TERMINAL]
            sources = Counter(projection.times(judged.run)[0] for judged in i.runs)
            implausible = sum(map(figures.implausible, i.runs))
            times = [f"{source} {sources[source]}" for source in ("event", "arrival") if sources[source]]
            rows.append([
                i.name,
                *(f"{count[0]} / {count[1]} / {count[2]}" for count in counts),
                *("{} of {}".format(*kept) if kept[1] else "–" for kept in i.kept()),
                ", ".join(times + [f"implausible timestamp {implausible}"] * bool(implausible)),
                f"{sum(judged.below_run for judged in made)} of {len(made)}",
                f"{sum(judged.below_envelope for judged in made)}"
                f" ({sum(judged.below_envelope_dense for judged in made)})",
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
                return [id for judged in i.runs for place in places for id in judged.own_ids[place]]

            started, ended = (of(*(place + key for key in ENDS)) for place in ("started ", "terminal "))
            every = [*started, *ended, *of("stream", "snapshots")]
            rows.append([
                i.name,
                f"{len(requests) - errors} / {errors}",
                *map(figures.shapes, (started, ended, of("stream"), of("snapshots"))),
                f"{figures.taken(every)} of {len(every)}" if every else "–",
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
            keys = [figures.state_keys(judged.run) for judged in i.runs]
            rows.append([
                i.name,
                f"{sum(bool(judged.state_events) for judged in i.runs)} of {len(i.runs)}",
                figures.state_bytes(i.runs),
                sum(map(bool, keys)),
                ", ".join(f"`{key}`" for key in sorted(set().union(*keys))) or "–",
                "{} ({})".format(*figures.left_out(i.runs)),
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
            others = [judged for judged in i.runs if judged.scenario not in self.needed]
            lacks = figures.by_scenario((figures.lacks(f), j.scenario) for j in others for f in figures.reasons(j))
            seen = [judged for judged in i.runs if judged.run.snapshots]
            made = [judged for judged in seen if judged.artifact]
            leaves = figures.by_scenario((figures.leaves(f), j.scenario) for j in made for f in j.result.omissions)
            rows.append([i.name, cell(lacks), cell(leaves) if seen else "unknown: no snapshot was emitted"])
        header = (
            "| integration | why runs of the other scenarios have no artifact of a usable snapshot"
            " | what artifacts omit from the snapshot |"
        )
        self.table("Results of the other scenarios", header, rows)

    # The contract

    def about_contract(self) -> None:
        section = "Implications for the contract"
        limit = contract.ASSAY_LIMITS["content"]
        self.prose(section, "Assay's mapper {} accepts at most {} characters per message.", contract.mapper(), limit)
        self.prose("Definitions", "- **Longer than {} characters**:", limit)
        long = [judged for judged in self.runs if judged.scenario == "long-reply"]
        for words, runs in (
            ("realistic length ([how the lengths were computed](harness/README.md)): ", long),
            ("In all scenarios, most of which have lengths that we chose: ", self.runs),
        ):
            made = [judged.artifact for judged in runs if judged.artifact]
            lengths = [len(contract.trim(message["content"])) for artifact in made for message in artifact["messages"]]
            self.prose(
                section,
                words + "{} of {} messages in artifacts are longer, the longest has {} characters, and the mapper accepts {} of"
                " {} artifacts.",
                sum(length > limit for length in lengths),
                len(lengths),
                max(lengths),
                sum(not contract.judge(artifact, contract.ASSAY_LIMITS) for artifact in made),
                len(made),
            )
        longer = {
            f"`{judged.scenario}`"
            for judged in self.made
            if any(len(contract.trim(content)) > limit for content in judged.contents)
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
            total = sum((judged.differences for judged in runs), Differences())
            self.prose(
                section,
                words + "{} runs with {} messages that have the same text in both, {} of them with another id and {} with"
                " another name; {} messages differ in white space, {} in HTML escapes, {} in other text;"
                " {} are only in the snapshot, {} only in the stream.",
                *total.counts(),
            )
        rows = [
            [f"{i.name} ({judged.verdict})", *judged.sizes]
            for i in self.all
            for judged in i.of(["one-turn"])
            if judged.artifact
        ]
        self.table(section, "| integration | captured run | envelope | artifact | without white space |", rows)

    # What could not be asked, and the evidence

    def not_asked(self) -> None:
        rows = []
        for i in self.all:
            expected = json.loads((DISCOVERY / "harness" / i.harness / "expected.json").read_bytes())
            rows += [[i.name, each["name"], each["note"]] for each in expected["scenarios"] if "note" in each]
        self.table("Scenarios that could not be run", "| integration | scenario | reason |", rows)

    def evidence(self) -> None:
        """For each answer the first run of each integration that shows it, and its events that do."""
        shows: dict[int, tuple[Callable[[Judged], Any], Callable[[Judged], list[Event]]]] = {
            1: (lambda j: j.usable, lambda j: j.run.snapshots),
            2: (lambda j: j.artifact and j.run.snapshots, lambda j: j.ends),
            3: (lambda j: j.artifact and len(j.run.snapshots) > 1, lambda j: j.run.snapshots),
            4: (lambda j: figures.text(j.run.capture.request.get("parentRunId")), lambda j: [j.run.started]),
            5: (lambda j: j in self.extremes(), lambda j: j.ends),
            6: (lambda j: j.artifact and j.own_ends, lambda j: j.own_ends),
            7: (lambda j: j.qualifies and not j.state_events, lambda j: j.ends),
        }
        rows = []
        for answer, (shown, events) in shows.items():
            for i in self.all:
                for judged in [judged for judged in i.runs if shown(judged)][:1]:
                    name = f"captures/{judged.run.capture.name}/response.sse"
                    rows.append([answer, f"[{name}]({name})", ", ".join(map(self.place, events(judged)))])
        self.table("Evidence", "| answer | file | first and last byte |", rows)

    def place(self, event: Event) -> str:
        name = "terminal" if event.type in TERMINAL else event.type.lower()
        return f"{event.start}–{event.stop - 1} ({name})"
