"""What the project promises about itself: ground truth stands alone, and the light parts stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

TRUTH = "tree_oracle.target.sequential"
JUDGED = ("tree_oracle.tree", "tree_oracle.masked", "tree_oracle.verify", "tree_oracle.decoder")
LIGHT = (
    "tree_oracle.record",
    "tree_oracle.tree",
    "tree_oracle.strategies",
    "tree_oracle.trace",
    "tree_oracle.construct",
    "tree_oracle.verify",
    "tree_oracle.metrics",
    "tree_oracle.vectors",
)
HEAVY = ("torch", "transformers")


def graph_of(package: str) -> grimp.ImportGraph:
    """Every import statement of a package, read from its source; imports for type checkers alone bind nothing."""
    return grimp.build_graph(
        package, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


def modules(graph: grimp.ImportGraph, *names: str) -> set[str]:
    """The named modules and all that stand inside them."""
    return {module for module in graph.modules for name in names if f"{module}.".startswith(f"{name}.")}


def chains(graph: grimp.ImportGraph, sources: set[str], targets: set[str]) -> list[str]:
    """One line for each chain of imports that leads from a source to a target."""
    found = (graph.find_shortest_chain(source, target) for source in sorted(sources) for target in sorted(targets))
    return [" -> ".join(chain) for chain in found if chain]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return graph_of("tree_oracle")


def test_ground_truth_reaches_nothing_that_it_judges(graph: grimp.ImportGraph) -> None:
    """No chain of imports leads from a sequential run to a tree, a mask, a verification rule or a decoder."""
    truth = {module for module in graph.modules if module.startswith(TRUTH)}
    judged = modules(graph, *JUDGED)
    assert truth
    assert all(modules(graph, name) for name in JUDGED)
    assert chains(graph, truth, judged) == []


@pytest.mark.parametrize("package", LIGHT)
def test_a_light_package_reaches_no_torch(graph: grimp.ImportGraph, package: str) -> None:
    """No chain of imports leads from trees, records, strategies or verification to torch or transformers."""
    assert modules(graph, package)
    assert set(HEAVY) <= graph.modules
    assert chains(graph, modules(graph, package), set(HEAVY)) == []


def test_a_planted_import_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof can fail: truth that reaches a tree through a third module is named with the whole chain."""
    package = tmp_path / "planted"
    package.mkdir()
    for name in ("__init__", "tree"):
        (package / f"{name}.py").touch()
    (package / "truth.py").write_text("from planted import helper", encoding="utf-8")
    (package / "helper.py").write_text("def f():\n    import planted.tree", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    graph = graph_of("planted")

    assert chains(graph, {"planted.truth"}, {"planted.tree"}) == ["planted.truth -> planted.helper -> planted.tree"]
    assert chains(graph, {"planted.helper"}, {"planted.truth"}) == []


REPORT = """
heavy = {"numpy", "torch", "transformers"} & set(sys.modules)
assert not heavy, heavy
"""
HELP = """
sys.argv = ["tree-oracle", "--help"]
from tree_oracle.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.mark.parametrize(
    "code", ["import tree_oracle", "import tree_oracle.pytest_plugin", HELP], ids=["import", "plugin", "help"]
)
def test_a_first_look_loads_nothing_heavy(code: str) -> None:
    """Importing the package, pytest loading its plugin and asking for help load neither numpy nor torch."""
    program = f"import sys\n{code}\n{REPORT}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_test_states_its_claim() -> None:
    """Each test function of this folder has a docstring: the sentence that it shows to hold."""
    silent = [
        f"{file.name}, line {node.lineno}: {node.name}"
        for file in sorted(Path(__file__).parent.glob("test_*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_every_public_name_resolves() -> None:
    """Each name that `dir(tree_oracle)` lists can be taken from it, and a wrong one is named in the error."""
    import tree_oracle

    for name in dir(tree_oracle):
        assert getattr(tree_oracle, name) is not None
    with pytest.raises(AttributeError, match="'check_decodr'"):
        _ = tree_oracle.check_decodr
