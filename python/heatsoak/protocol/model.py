"""The schema of a protocol; see docs/protocols.md for how it reads in TOML."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.errors import suggestion
from heatsoak.protocol.copy_step import Copy
from heatsoak.protocol.heat import Heat
from heatsoak.protocol.rounds import Rounds, Step
from heatsoak.protocol.score import Score
from heatsoak.protocol.step import LoadStep, Pause, Precondition, Purge, PurgeMethod, with_kind
from heatsoak.protocol.workload import Conditions, Label, Model, SizeOrShare
from heatsoak.units import Size


class Matrix(Model):
    """The conditions and places that a protocol is repeated in.

    Attributes:
        axes: the values of each condition; the cells are their product.
        exclude: cells left out, each by some of its conditions.
        by_hand: axes that only hands can change on a real machine, such as the slot.
        enclosure: the simulated place of a cell, with ``{axis}`` for a value.
    """

    axes: dict[str, Annotated[list[Label], Field(min_length=1)]] = Field(min_length=1)
    exclude: list[Conditions] = Field(default_factory=list)
    by_hand: list[str] = Field(default_factory=list)
    enclosure: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        for place, names in (
            *(("exclude", list(entry)) for entry in self.exclude),
            ("by_hand", self.by_hand),
        ):
            for name in names:
                if name not in self.axes:
                    raise ValueError(f"{place} names '{name}', which is no axis of the matrix")
        try:
            self.enclosure_of({name: values[0] for name, values in self.axes.items()})
        except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
            raise ValueError(
                f"enclosure is '{self.enclosure}': only axes may stand in braces, "
                f"{{{'}, {'.join(self.axes)}}}"
            ) from error
        if not self.cells():
            raise ValueError("exclude leaves no cell of the matrix")
        return self

    def cells(self) -> list[Conditions]:
        """Return every combination that is not excluded, the last axis moving fastest."""
        combinations = (
            dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())
        )
        return [
            cell
            for cell in combinations
            if not any(all(cell[k] == v for k, v in entry.items()) for entry in self.exclude)
        ]

    def enclosure_of(self, cell: Conditions) -> str | None:
        """Return the id of the simulated place for a cell, if the protocol names one."""
        return None if self.enclosure is None else self.enclosure.format_map(cell)


class Protocol(Model):
    """Ordered steps, and the conditions they run in.

    Attributes:
        notes: what whoever reads a result must know of the protocol; each run warns of it.
        file_size: how large a test file it wants where the target is a directory.
        matrix: conditions to repeat it in; None runs it once.
        heat: what warms the case meanwhile.
        scores: the numbers that it is run for.
        scale: what share of its sizes and times this is; see :func:`heatsoak.protocol.scaled`.
    """

    schema_version: Literal[1] = Field(1, validation_alias=AliasChoices("schema", "schema_version"))
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    title: str = ""
    description: str = ""
    sources: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    file_size: SizeOrShare = Field(Size(percent=100.0), validate_default=False)
    conditions: Conditions = Field(default_factory=dict)
    heat: list[Heat] = Field(default_factory=list)
    matrix: Matrix | None = None
    scores: list[Score] = Field(default_factory=list)
    scale: float = Field(1.0, gt=0, le=1)
    steps: Annotated[
        list[Annotated[Step, BeforeValidator(with_kind)]],
        Field(min_length=1),
    ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: set[str] = set()
        for name in self._names():
            if name in seen:
                raise ValueError(f"two steps are named '{name}': give each its own name")
            seen.add(name)
        for index, step in enumerate(self.steps):
            problem = self._wrong_condition(index, step)
            if problem:
                raise ValueError(f"steps[{index + 1}], '{step.name}': {problem}")
        self._check_scores()
        self._check_copies()
        return self

    def _names(self) -> Iterator[str]:
        """The names that must differ: of what is recorded, and of the steps of a round."""
        for step in self.steps:
            if isinstance(step, Rounds):
                yield from (one.name for one in step.steps if isinstance(one, LoadStep))
                yield from (one.name for one in step.load_steps())
            elif isinstance(step, LoadStep | Copy):
                yield step.name

    def _check_scores(self) -> None:
        once = [
            one
            for step in self.steps
            for one in (step.steps if isinstance(step, Rounds) else [step])
        ]
        judged = [
            step.name
            for step in once
            if isinstance(step, LoadStep | Copy) and not isinstance(step, Precondition)
        ]
        for score in self.scores:
            for name in score.steps:
                if name not in judged:
                    raise ValueError(
                        f"score '{score.name}' names '{name}', which is no judged step"
                        f"{suggestion(name, judged)}{_list(judged)}"
                    )

    def _check_copies(self) -> None:
        if not self.copies:
            return
        for index, step in enumerate(self.steps):
            if step.is_probe or not isinstance(step, Copy | Pause | Purge | Precondition):
                what = "taken only under a condition" if step.is_probe else f"a {step.kind}"
                raise ValueError(
                    f"steps[{index + 1}], '{step.name}': is {what}, which a protocol that copies "
                    "cannot have: it has copies, pauses, and purges and preconditions of the "
                    "destination"
                )
            if isinstance(step, Purge) and not step.takes_all:
                raise ValueError(
                    f"steps[{index + 1}], '{step.name}': capacity is for workloads, whose spans "
                    "are shares of it; a copy says in bytes how much it copies"
                )
        for key in ("matrix", "heat"):
            if getattr(self, key):
                raise ValueError(f"{key} cannot be had in a protocol that copies")

    def _wrong_condition(self, index: int, step: Step) -> str | None:
        """What is wrong with the conditions under which a step is taken."""
        earlier = {before.name: before for before in self.steps[:index]}
        judged = [
            name
            for name, before in earlier.items()
            if isinstance(before, LoadStep) and not isinstance(before, Precondition)
        ]
        wanted = [("only_if_drop_in", name, judged) for name in step.only_if_drop_in]
        if step.only_after is not None:
            wanted.append(("only_after", step.only_after, list(earlier)))
        for key, name, known in wanted:
            if name in known:
                continue
            says = f"{key} names '{name}'"
            if name in earlier:
                return (
                    f"{says}, which is a {earlier[name].kind} and not judged: name a workload "
                    f"before it{_list(judged)}"
                )
            if any(name == other.name for other in self.steps[index:]):
                return f"{says}, which does not come before it: name an earlier step{_list(known)}"
            return (
                f"{says}, and there is no such step{suggestion(name, known)}: "
                f"name an earlier one{_list(known)}"
            )
        return None

    @property
    def workload_steps(self) -> list[LoadStep]:
        """What loads the target and is recorded: preconditioning, replays, steps of each round."""
        found: list[LoadStep] = []
        for step in self.steps:
            if isinstance(step, Rounds):
                found += step.load_steps()
            elif isinstance(step, LoadStep):
                found.append(step)
        return found

    @property
    def rounds(self) -> list[Rounds]:
        """The steps that are taken again and again."""
        return [step for step in self.steps if isinstance(step, Rounds)]

    @property
    def copies(self) -> list[Copy]:
        """The steps that copy; with any, it is run on two drives."""
        return [step for step in self.steps if isinstance(step, Copy)]

    @property
    def writes(self) -> bool:
        """Whether any step changes what is on the target."""
        return any(
            step.changes_data
            if isinstance(step, LoadStep | Rounds)
            else isinstance(step, Purge | Copy)
            for step in self.steps
        )

    @property
    def purges(self) -> list[Purge]:
        """The steps that purge, those of rounds included."""
        steps = [one for step in self.steps for one in getattr(step, "steps", (step,))]
        return [step for step in steps if isinstance(step, Purge)]

    @property
    def purge_methods(self) -> set[PurgeMethod]:
        """How its steps want the target purged."""
        return {step.method for step in self.purges}

    def cells(self) -> list[Conditions]:
        """Return the conditions of each recording that a run makes."""
        if self.matrix is None:
            return [dict(self.conditions)]
        return [{**self.conditions, **cell} for cell in self.matrix.cells()]


def _list(names: list[str]) -> str:
    return f", {' or '.join(names)}" if names else ""
