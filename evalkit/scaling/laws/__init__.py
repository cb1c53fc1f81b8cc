"""The laws that can be fitted, one file a family."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.errors import UnknownNameError
from evalkit.scaling.laws.base import Law
from evalkit.scaling.laws.chinchilla import Chinchilla, OverTraining
from evalkit.scaling.laws.coupled import Coupled, KaplanJoint
from evalkit.scaling.laws.power import Offset, PowerLaw
from evalkit.scaling.laws.repeated import RepeatedData

LAWS: Mapping[str, Law] = {
    "power_n": PowerLaw(axis="N"),
    "power_d": PowerLaw(axis="D"),
    "power_c": PowerLaw(axis="C"),
    "offset_n": Offset(axis="N"),
    "offset_d": Offset(axis="D"),
    "offset_c": Offset(axis="C"),
    "kaplan": KaplanJoint(),
    "kaplan_offset": KaplanJoint(has_offset=True),
    "chinchilla": Chinchilla(),
    "chinchilla_tied": Chinchilla(is_tied=True),
    "chinchilla_by_group": Chinchilla(by_group=True),
    "coupled": Coupled(),
    "overtraining": OverTraining(),
    "repeated": RepeatedData(),
}
"""Every law under the name by which it is asked for, in its usual settings."""

FAMILIES: Mapping[str, type[Law]] = {
    law.name: law for law in (PowerLaw, Offset, KaplanJoint, Chinchilla, Coupled, OverTraining, RepeatedData)
}
"""The classes by name, for settings that are read from a file."""


def law_named(law: str | Law) -> Law:
    """Give a law by name, or a law as it is.

    Raises:
        UnknownNameError: There is no such law.
    """
    if isinstance(law, Law):
        return law
    if law not in LAWS:
        raise UnknownNameError("law", str(law), LAWS)
    return LAWS[law]
