"""A second validator of ag-ui.compacted-message-snapshot.export.v1.

It was written from the contract alone. Every check is marked with the number
of the rule that it keeps. `validate` is all that a caller needs.
"""

from . import artifact, envelope

KINDS = ("artifact", "envelope")
PROFILES = ("v1", "assay")


def validate(data, kind, profile):
    """Judges the bytes of one file; the answer is a dictionary for JSON."""
    if kind not in KINDS or profile not in PROFILES:
        raise ValueError("unknown kind or profile")
    if kind == "artifact":
        return artifact.judge(data, profile)
    return envelope.judge(data)
