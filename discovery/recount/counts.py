"""Counts the figures of the page from the captures, section by section."""

import json
from collections import Counter
from typing import Any, Callable

import contract
import figures
import projection
import rebuilt
from answers import Answers
from capture import TERMINAL, Event
from figures import DISCOVERY, ENDS, AnalyzedRun, Differences
from page import Prose, Table

VERDICTS = ("exact", "reduced", "chosen", "incomplete", "built", "refused")


def listed(names: list[str]) -> str:
    """Joins names as the page does: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


class Counts(Answers):
    def checks(self) -> list[Prose | Table]:
        """Returns every figure with its place on the page."""
        self.found = []
        self.beginning()
        self.qualification()
        self.answers()
        self.specification()
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

    # The beginning of the page

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

    # AG-UI's specification

    def specification(self) -> None:
        rows, broken = [], []
        for i in self.all:
            counts = [sum(column) for column in zip(*(figures.breaches(entry.run) for entry in i.runs))]
            rows.append([i.name, "yes" if self.qualifies(i) else "no", len(i.runs), *counts])
            what = ", ".join(f"{n} of {len(i.runs)} runs {words}" for n, words in zip(counts, figures.BREACHES) if n)
            if what:
                broken.append((self.qualifies(i), f"{i.name} {i.version} ({what})"))
        good = sum(map(self.qualifies, self.all))
        section = "What AG-UI's specification changes"
        for qualify, words, total in (
            (True, "Qualified integrations that break one of these rules: ", good),
            (False, "Integrations that do not qualify and break one: ", len(self.all) - good),
        ):
            names = [name for qualifies, name in broken if qualifies == qualify]
            stop = " Integrations" if qualify else "\n"
            self.prose(section, words + "{} of {}: {}." + stop, len(names), total, "; ".join(names) or "none")
        header = "| integration | qualifies | runs |" + "".join(f" {words} |" for words in figures.BREACHES)
        self.table(section, header, rows)

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
