"""`evalkit gate` as CI systems call it: exit codes, files, plans, and the documented recipes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ("github-actions.yml", "gitlab-ci.yml")


def installed(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Call the command that is installed beside this Python, or the module where the package is only checked out."""
    script = shutil.which("evalkit", path=str(Path(sys.executable).parent))
    command = [script] if script else [sys.executable, "-m", "evalkit"]
    path = os.pathsep.join(str(ROOT / part) for part in (".", "tasks", "models"))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )


def outputs(right: int, late: int = 0) -> list[str]:
    return ["x"] * right + ["y"] * (200 - right - late) + ["x"] * late


@pytest.fixture
def stored(tmp_path):
    """Keep a run of 200 questions of which so many are answered right."""

    def keep(name: str, right: int, late: int = 0, **more) -> str:
        return keep_run(tmp_path / "runs", SquadV1(), outputs(right, late), [["x"]] * 200, name=name, **more)

    return keep


@pytest.mark.parametrize(
    ("code", "verdict", "candidate", "flags"),
    [
        (0, "pass", {"right": 150}, []),
        (0, "inconclusive (accepted by on-inconclusive = pass)", {"right": 135, "late": 13}, []),
        (1, "regressed", {"right": 100}, []),
        (
            3,
            "inconclusive (fails under on-inconclusive = fail)",
            {"right": 135, "late": 13},
            ["--on-inconclusive", "fail"],
        ),
        (4, "not comparable", {"right": 150, "changes": {"data": {"digest": "other"}}}, []),
        (5, "incomplete", {"right": 150, "task": {"name": "another"}}, []),
    ],
)
def test_each_verdict_has_its_exit_code_through_the_installed_command(
    tmp_path, stored, code, verdict, candidate, flags
):
    stored("base", 150)
    stored("cand", **candidate)
    done = installed("gate", "--baseline", "runs/base", "--candidate", "runs/cand", *flags, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines()[-1] == f"gate: {verdict}"
    assert done.stderr == ""


def test_wrong_use_exits_2_through_the_installed_command(tmp_path):
    done = installed("gate", "--baseline", "runs/base", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("evalkit: gate: --candidate is missing")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gate", "--baseline", "main", "--candidate", "."], "neither a run folder nor a baseline"),
        (["gate", "--baseline", "a", "--candidate", "b", "--policy", "none.toml"], "none.toml: no such file"),
        (["gate", "--baseline", "a", "--candidate", "b", "--alpha", "2"], "alpha is 2.0"),
        (["gate", "--baseline", "a", "--candidate", "b", "--allow", "signature"], "never compared"),
        (["gate", "plan"], "--baseline is missing"),
        (["gate", "plot"], "plot"),
    ],
)
def test_wrong_use_is_one_line(evalkit, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    outcome = evalkit(*arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_calls_repeat_byte_for_byte_in_every_format(tmp_path, stored, monkeypatch):
    base, cand = stored("base", 150), stored("cand", 140, late=4)
    written = []
    for hash_seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        arguments = ("gate", "--baseline", base, "--candidate", cand, "--junit", "g.xml", "--markdown", "g.md")
        text, document = (installed(*arguments, *more, folder=tmp_path).stdout for more in ((), ("--json",)))
        written.append((text, document, (tmp_path / "g.xml").read_bytes(), (tmp_path / "g.md").read_bytes()))
    assert written[0] == written[1]
    assert json.loads(written[0][1])["findings"][0]["bounds"]["effect"] == -3.0


def test_the_same_verdict_stands_in_all_files(evalkit, tmp_path, stored):
    base, cand = stored("base", 150), stored("cand", 100)
    xml, markdown = tmp_path / "out" / "g.xml", tmp_path / "out" / "g.md"
    outcome = evalkit("gate", "--baseline", base, "--candidate", cand, "--junit", xml, "--markdown", markdown, "--json")
    assert (outcome.code, outcome.json["verdict"], outcome.json["exit_code"]) == (1, "regressed", 1)
    assert ElementTree.parse(xml).getroot().get("failures") == "1"
    assert markdown.read_text(encoding="utf-8").startswith("### evalkit gate: regressed\n")


def test_a_folder_of_candidate_runs_is_one_recipe_with_seeds(evalkit, tmp_path, stored):
    base = stored("base", 150)
    for seed in range(3):
        keep_run(tmp_path / "seeds", SquadV1(), outputs(100 + seed), [["x"]] * 200, name=f"seed{seed}")
    outcome = evalkit("gate", "--baseline", base, "--candidate", tmp_path / "seeds", "--json")
    [finding] = outcome.json["findings"]
    assert (outcome.code, finding["runs"]) == (1, {"baseline": 1, "candidate": 3})


def test_a_run_cut_short_is_not_comparable(evalkit, stored):
    base, cand = stored("base", 150), stored("cand", 150)
    path = Path(cand) / "samples.jsonl"
    path.write_bytes(path.read_bytes()[:3000])
    outcome = evalkit("gate", "--baseline", base, "--candidate", cand)
    assert outcome.code == 4
    assert "its folder was cut short" in outcome.out


def test_a_baseline_is_as_good_as_its_run(evalkit, tmp_path, stored, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, cand = stored("base", 150), stored("cand", 140, late=4)
    assert evalkit("baseline", "set", "main", base, "--why", "first").code == 0
    direct = evalkit("gate", "--baseline", base, "--candidate", cand, "--json").json
    named = evalkit("gate", "--baseline", "main", "--candidate", cand, "--json").json
    for document in (direct, named):
        for finding in document["findings"]:
            finding["changed"] = [change["id"] for change in finding["changed"]]
    assert direct == named


def test_a_plan_says_what_can_be_decided(evalkit, tmp_path, stored):
    base, pilot = stored("base", 150), stored("pilot", 140, late=9)
    policy = tmp_path / "gate.toml"
    policy.write_text('[[check]]\ntask = "toy"\nmargin = 0.5\n', encoding="utf-8")
    outcome = evalkit("gate", "plan", "--baseline", base, "--pilot", pilot, "--policy", policy)
    assert outcome.code == 0, outcome.err
    assert "cannot be decided with 200 examples" in outcome.out
    document = evalkit("gate", "plan", "--baseline", base, "--policy", policy, "--json").json
    assert document["checks"][0]["basis"] == "assumed correlation 0.5"
    assert document["checks"][0]["can_decide"] is False


def commands(recipe: str) -> list[list[str]]:
    """The evalkit commands of a recipe, in order."""
    text = (ROOT / "docs" / "ci" / recipe).read_text(encoding="utf-8")
    return [line.split()[1:] for line in re.findall(r"^\s*(?:- )?(evalkit .*)$", text, re.MULTILINE)]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_documented_recipe_works(evalkit, tmp_path, monkeypatch, recipe):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "docs" / "ci" / "gate.toml", tmp_path)
    run, gate = commands(recipe)
    assert (run[0], gate[0]) == ("run", "gate")
    blessed = [*run[: run.index("--out")], "--out", "blessed"]
    assert evalkit(*blessed).code == 0
    assert evalkit("baseline", "set", "main", "blessed", "--why", "what the recipe needs").code == 0
    assert evalkit(*run).code == 0
    outcome = evalkit(*gate)
    assert outcome.code == 0, outcome.out
    assert outcome.out.splitlines()[-1] == "gate: pass"
    assert Path("gate.xml").is_file()
    assert Path("gate.md").is_file()


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_documented_recipe_is_yaml_with_the_steps_in_it(recipe):
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load((ROOT / "docs" / "ci" / recipe).read_text(encoding="utf-8"))
    steps = document["jobs"]["gate"]["steps"] if recipe.startswith("github") else document["gate"]["script"]
    assert sum("evalkit gate" in str(step) for step in steps) == 1
