"""Small worlds and tasks that the simulator's tests share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from study.backoffice.episode import Episode
from study.backoffice.faults import CompiledLaw, compile_law
from study.backoffice.generate import generate
from study.backoffice.grader import Canonical
from study.backoffice.profiles import COMPACT, NATURAL
from study.backoffice.regimes import REGIMES
from study.backoffice.tasks import Task, budget_for
from study.backoffice.toolset import toolset
from study.backoffice.world import Customer, Line, Order, Product, World

ADDRESS = ("5 Elm Street", "Boulder", "80302")
HOME = ("7 Oak Street", "Cambridge", "02139")


@pytest.fixture(scope="session")
def tasks() -> list[Task]:
    """The first 120 natural validation tasks."""
    return [generate(NATURAL, "validation", index) for index in range(120)]


@pytest.fixture(scope="session")
def compact_tasks() -> list[Task]:
    return [generate(COMPACT, "validation", index) for index in range(120)]


@pytest.fixture(scope="session")
def laws() -> dict[str, CompiledLaw]:
    return {name: compile_law(law) for name, law in REGIMES.items()}


def small_world(orders: int = 0) -> World:
    """Two customers, three products, one order of every kind for C-1, and `orders` paid orders for C-2."""
    line = Line("P-1", 2, 2500, 0)
    held = Line("P-2", 1, 900, 1)
    rows = [
        Order("O-1", "C-1", "pending", (line,), ADDRESS, 0, 0),
        Order("O-2", "C-1", "paid", (line,), ADDRESS, 2500, 0),
        Order("O-3", "C-1", "paid", (held,), ADDRESS, 900, 0),
        Order("O-4", "C-1", "shipped", (held,), ADDRESS, 900, 0),
        Order("O-5", "C-1", "delivered", (line, held), ADDRESS, 3400, 400),
        Order("O-6", "C-1", "cancelled", (line,), ADDRESS, 2500, 0),
        *(Order(f"O-9{n:02d}", "C-2", "paid", (line,), ADDRESS, 2500, 0) for n in range(orders)),
    ]
    return World.of(
        [
            Customer("C-1", "Ada Byron", "ada@example.net", "urgent", HOME),
            Customer("C-2", "Bo Li", "bo@x.net", "standard", HOME),
        ],
        [
            Product("P-1", "desk lamp", 1250, 10, 3),
            Product("P-2", "travel mug", 900, 5, 5),
            Product("P-3", "tool box", 400, 1, 0),
        ],
        rows,
        5,
    )


def task_of(world: World, writes: int = 1, index: int = 0) -> Task:
    """A task on a hand-made world; its expected end state is the base, its plan empty."""
    return Task(
        task_id=f"hand-{index}",
        pool="validation",
        index=index,
        world_seed="0" * 32,
        profile=NATURAL,
        request="",
        parts=(),
        plan=(),
        world=world,
        expected=Canonical({}, ()),
        budget=budget_for(writes),
        tools=toolset(NATURAL),
    )


@pytest.fixture
def small() -> Callable[..., Episode]:
    """An episode on the small world: small(law="clean", writes=7, orders=0, seed="...")."""

    def make(
        law: CompiledLaw | str = "clean", writes: int = 7, orders: int = 0, seed: str = "0" * 32
    ) -> Episode:
        compiled = compile_law(REGIMES[law]) if isinstance(law, str) else law
        return Episode(task_of(small_world(orders), writes), compiled, seed)

    return make


@pytest.fixture(scope="session")
def make_task() -> Callable[..., Task]:
    return task_of


@pytest.fixture(scope="session")
def make_world() -> Callable[..., World]:
    return small_world


@pytest.fixture(scope="session")
def seed_where() -> Callable[..., str]:
    """A schedule seed under which given events draw given types: seed_where(law, {(tool, resource, k): type}, kinds)."""
    from study.backoffice.schedule import Schedule, schedule_seed

    kinds = {name: tool.kind for name, tool in toolset(NATURAL).items()}

    def find(
        law: CompiledLaw,
        wanted: dict[tuple[str, str, int], str | None],
        parameter: Callable[[int], bool] | None = None,
    ) -> str:
        for number in range(200_000):
            seed = schedule_seed("test", number)
            schedule = Schedule(seed)
            for event, fault in wanted.items():
                lanes = schedule.draw(*event)
                if law.fault(kinds[event[0]], lanes) != fault or (
                    fault and parameter and not parameter(lanes.parameter)
                ):
                    break
            else:
                return seed
        raise AssertionError("no such schedule among 200,000")

    return find


@pytest.fixture(scope="session")
def template_counts() -> Callable[[list[Task]], Counter[str]]:
    return lambda tasks: Counter(part.template for task in tasks for part in task.parts)
