"""A second validator of ag-ui.compacted-message-snapshot.export.v1.

It was written from the contract alone. A comment at every check has the number of
its rule. Callers need only `validate`.
"""

from . import artifact, envelope

KINDS = ("artifact", "envelope")
PROFILES = ("v1", "assay")


def validate(data, kind, profile):
    """Validates the bytes of one file and returns a dictionary for JSON."""
    if kind not in KINDS or profile not in PROFILES:
        raise ValueError("unknown kind or profile")
    if kind == "artifact":
        return artifact.validate(data, profile)
    return envelope.validate(data)
