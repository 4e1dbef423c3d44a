"""Sections 7, 12 and 15 of the projections: projects a run.

The versions are emitted-snapshot@3, emitted-snapshot-text@3 and
folded-stream@4.
"""

from . import artifact
from .bounded import built_line, line_of
from .canonical import canonical_file
from .characters import has_half, trim
from .ends import error_texts, optional, other_keys, parent
from .frames import cut
from .lacking import lacking
from .messages import read_messages
from .moments import NoArrivals, times_of
from .omissions import Ledger
from .run_input import RunInput, Request, input_of
from .runs import split

STRICT = "emitted-snapshot"
REDUCING = "emitted-snapshot-text"
FOLDED = "folded-stream"
PROJECTIONS = (STRICT, REDUCING, FOLDED)
SNAPSHOTS = 10000  # snapshots that are listed if they are not chosen (S3)


class Settings:
    """I1: the settings of a projection.

    `operator` is None or (started_at, finished_at or None).
    """

    def __init__(self, projection, snapshot="only", profile="v1", operator=None):
        self.projection = projection
        self.snapshot = snapshot
        self.profile = profile
        self.operator = operator


class Response:
    """A response that was read: its runs, and the findings of the whole capture.

    `request` is None or the bytes of a request.json.
    """

    def __init__(self, data, framing, request=None, arrivals=None):
        frames, malformed = cut(data, framing)
        self.empty = not frames
        self.runs = split(frames)
        self.arrivals = arrivals or NoArrivals()
        self.codes = set()  # I8
        if malformed:
            self.codes.add("array_malformed")
        if not self.arrivals.valid:
            self.codes.add("arrivals_malformed")
        self.request = None if request is None else Request(request)
        self._run = None

    def project(self, run, settings):
        """Returns the result for one run under one setting.

        Results that several settings share are computed once for each run.
        """
        if run is not self._run:
            self._run = run
            self._answers = {}
            self._lacking = {}
        return _Work(self, run, settings).answer()

    def codes_of(self, data, profile):
        """Y2: returns the codes of an artifact, validated once for each profile."""
        key = (data, profile)
        if key not in self._answers:
            findings = artifact.validate(data, profile)["findings"]
            self._answers[key] = {found["code"] for found in findings if found["rule"]}
        return self._answers[key]

    def lacking(self, run, snapshot):
        """Section 9: returns the lacking messages of one snapshot, compared once."""
        if snapshot.index not in self._lacking:
            self._lacking[snapshot.index] = lacking(run, snapshot, self.request)
        return self._lacking[snapshot.index]


def refused(codes):
    """Returns the result for a refused run."""
    return {"outcome": "refused", "errors": sorted(codes)}


class _Work:
    """Projects one run under one setting."""

    def __init__(self, response, run, settings):
        self.response = response
        self.run = run
        self.settings = settings
        self.ledger = Ledger(settings.projection == STRICT)
        self.values = {}
        self.times = None
        self.snapshot = None

    def answer(self):
        """Applies the sections in the order of O1."""
        ledger, run = self.ledger, self.run
        if run.uncounted:
            ledger.omit(None, "", "families_uncounted", run.uncounted)  # R13
        ledger.errors |= run.codes  # R3 to R9
        if run.terminal is None:
            return self.refusal()  # R5
        if run.names_other_run and ledger.strict:
            ledger.error("terminal_names_other_run")  # R11
        self.take_times()
        self.take_ends()
        folded = self.settings.projection == FOLDED
        messages = self.streamed() if folded else self.emitted()
        if ledger.errors:
            return self.refusal()
        if not messages:
            ledger.error("nothing_left")  # Y1
            return self.refusal()
        data = canonical_file(self.values, messages)  # Y3
        ledger.errors |= self.response.codes_of(data, self.settings.profile)  # Y2
        if ledger.errors or self.response.codes:
            return self.refusal()
        if not folded:
            for index in self.response.lacking(run, self.snapshot):
                ledger.omit(index, "", "snapshot_lacks_streamed_text")  # X7
        middle = built_line(messages) if folded else line_of(self.snapshot)
        return {
            "outcome": "frozen",
            "artifact": data.decode("utf-8"),
            "envelope": line_of(run.started) + middle + line_of(run.terminal),  # V1
            "omissions": ledger.omissions.answer(),
            "times": self.times,
        }

    def refusal(self):
        """I2, I3 step 5: returns the result of a refused run."""
        return refused(self.ledger.errors | self.response.codes)

    # Sections 5 and 6

    def take_times(self):
        """L1: chooses the source of times."""
        source, started, finished = times_of(self.run, self.response.arrivals, self.settings.operator)
        self.times = source
        if source is None:
            self.ledger.error("started_at_missing")
        else:
            self.values["started_at"] = started
            if finished is not None:
                self.values["finished_at"] = finished

    def take_ends(self):
        """B1 to B8: takes the values of RUN_STARTED and of the terminal event."""
        ledger, run, values = self.ledger, self.run, self.values
        for key, (_, constant) in artifact.CONSTANTS.items():
            values[key] = constant
        values["thread_id_ref"] = run.thread  # B1
        values["run_id_ref"] = run.id  # B1
        parent_id = parent(ledger, run)  # B2
        if parent_id is not None:
            values["parent_run_id_ref"] = parent_id
        own = self.times == "event"
        also = ["timestamp"] if own else []
        if self.reads_input():
            also.append("input")
        other_keys(ledger, run.started, also)  # B8
        if run.names_other_run and not ledger.strict:
            ledger.omit(run.terminal.index, "/runId", "terminal_names_other_run")  # R12
        values["terminal_event"] = run.terminal.kind  # B3
        values.update(error_texts(ledger, run, self.settings.profile == "assay"))  # B4 to B7
        other_keys(ledger, run.terminal, ("timestamp",) if own and "finished_at" in values else ())

    def reads_input(self):
        """Q2: returns whether input of RUN_STARTED is the run input."""
        if self.settings.projection != FOLDED or self.response.request is not None:
            return False
        return input_of(self.run) is not None

    # Section 7

    def emitted(self):
        """S1 to S6: returns the messages of the taken snapshot."""
        ledger = self.ledger
        snapshot = self.choose()
        if snapshot is None:
            return []
        self.snapshot = snapshot
        for number, other in enumerate(self.run.snapshots):
            if other is not snapshot:
                if number < SNAPSHOTS:
                    ledger.omit(other.index, "", "snapshot_not_chosen")  # S3
                else:
                    ledger.omissions.past += 1  # S3
        event = snapshot.value
        if _is_built(event):
            ledger.error("snapshot_built")  # S4
        listed = event.get("messages")
        if type(listed) is not list:
            ledger.error("snapshot_malformed")  # S5
            return []
        messages = read_messages(ledger, listed, snapshot.index, "/messages", "snapshot_malformed")  # S6
        other_keys(ledger, snapshot)  # S6: B8
        return messages

    def choose(self):
        """S1, S2: returns the taken snapshot, or None."""
        snapshots, selection = self.run.snapshots, self.settings.snapshot
        if not snapshots:
            self.ledger.error("snapshot_missing")  # S1
        elif selection == "only":
            if len(snapshots) == 1:
                return snapshots[0]
            self.ledger.error("snapshot_several")  # S2
        elif selection in ("first", "last"):
            return snapshots[0 if selection == "first" else -1]
        elif len(selection) < 10 and int(selection) <= len(snapshots):
            return snapshots[int(selection) - 1]
        else:
            self.ledger.error("snapshot_out_of_range")  # S2
        return None

    # Sections 10 and 11

    def streamed(self):
        """Q1 to Q7, K16: returns the messages of the run input and of the stream."""
        ledger = self.ledger
        if self.run.snapshots:
            ledger.error("snapshot_present")  # Q1
            return []
        fold = self.run.fold
        ledger.errors |= fold.codes  # K2 to K15
        run_input = RunInput(ledger, self.run, self.response.request)
        messages = run_input.messages
        for message in fold.messages.values():
            if trim(message.id) in run_input.ids:
                ledger.error("streamed_id_in_request")  # Q7
                continue
            taken = self.streamed_message(message)
            if taken is not None:
                messages.append(taken)
        ledger.omissions.add_all(fold.omissions)  # O1, O4
        return messages

    def streamed_message(self, message):
        """K16: returns one message as the artifact has it, or None."""
        ledger = self.ledger
        if message.role not in artifact.ROLES:
            ledger.omit(message.first, "", "role_outside_subset")
            return None
        text = message.text
        if not trim(text):
            ledger.omit(message.first, "", "content_blank")
            return None
        if has_half(text):
            ledger.error("lone_surrogate")
        taken = {"id": message.id, "role": message.role, "content": text}
        if message.is_named:
            name = optional(ledger, message.name, message.first, "/name")  # U6
            if name is not None:
                taken["name"] = name
        return taken


def _is_built(event):
    """S4: returns whether a snapshot has the mark of V3."""
    for key in ("metadata", "p20export"):
        event = event.get(key)
        if type(event) is not dict:
            return False
    return event.get("origin") == "built"
