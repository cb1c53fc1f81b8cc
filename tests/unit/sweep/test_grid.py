"""Grid files: what is read, and what is refused in one line."""

import pytest

from evalkit.errors import InvalidInputError
from evalkit.sweep.cells import Cell, read_outcome
from evalkit.sweep.engines import check_settings
from evalkit.sweep.grid import EngineSettings, read_grid

FLAGS = ["limit", "seed", "batch-size", "metrics"]
GOOD = 'tasks = ["a", "b_*"]\nmodels = ["baseline:all"]\n'


def grid(folder, text):
    path = folder / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return read_grid(path, FLAGS)


def test_a_grid_is_read_with_its_flags_as_words(tmp_path):
    read = grid(tmp_path, GOOD + 'out = "kept"\n[run]\nlimit = 5\nmetrics = ["bleu", "chrf"]\n[engine]\nworkers = 3\n')
    assert (read.tasks, read.models, read.out) == (("a", "b_*"), ("baseline:all",), "kept")
    assert read.arguments() == ["--limit=5", "--metrics=bleu", "--metrics=chrf"]
    assert read.engine.workers == 3


def test_excluded_cells_match_by_task_and_model(tmp_path):
    read = grid(tmp_path, GOOD + 'exclude = [{ task = "b_*", model = "m*" }, { model = "x" }]\n')
    assert read.leaves_out("b_1", "m2")
    assert read.leaves_out("a", "x")
    assert not read.leaves_out("a", "m2")
    assert not read.leaves_out("b_1", "n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks = [", "not a TOML file"),
        ('models = ["m"]', "tasks is None; expected a list"),
        ('tasks = []\nmodels = ["m"]', "tasks is"),
        ('tasks = "a"\nmodels = ["m"]', "tasks is 'a'; expected a list"),
        (GOOD + "task = 1", "did you mean 'tasks'"),
        (GOOD + "[run]\nlimmit = 1", "did you mean 'limit'"),
        (GOOD + '[run]\ntask = "a"', "unknown"),
        (GOOD + "[engine]\nworker = 1", "did you mean 'workers'"),
        (GOOD + "[engine]\nworkers = 0", "workers is 0; expected 1 or more"),
        (GOOD + '[engine]\nworkers = "2"', "expected a whole number"),
        (GOOD + '[engine]\ncluster = "slum"', "did you mean 'slurm'"),
        (GOOD + "[engine]\nretries = -1", "retries is -1"),
        (GOOD + "exclude = [{}]", "exclude is"),
        (GOOD + 'exclude = [{ modell = "x" }]', "did you mean 'model'"),
        (GOOD + "out = 3", "out is 3"),
        (GOOD + "run = 3", "expected a table"),
    ],
)
def test_what_cannot_be_a_grid_is_refused(tmp_path, text, said):
    with pytest.raises(InvalidInputError, match="(?s)" + said.replace("[", r"\[")) as error:
        grid(tmp_path, text)
    assert "\n" not in str(error.value)


def test_a_missing_grid_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"gone\.toml: no such file"):
        read_grid(tmp_path / "gone.toml", FLAGS)


@pytest.mark.parametrize(
    ("engine", "settings"),
    [("local", {"partition": "gpu"}), ("local", {"gpus": 1}), ("ray", {"partition": "x"}), ("slurm", {"address": "a"})],
)
def test_settings_of_another_engine_are_refused(engine, settings):
    with pytest.raises(InvalidInputError, match=f"means nothing to engine '{engine}'"):
        check_settings(engine, EngineSettings(**settings))


@pytest.mark.parametrize(
    ("code", "printed", "said", "status", "message"),
    [
        (0, '{"runs": [{"id": "r1"}]}', "warning: x", "done", ""),
        (0, "", "", "failed", "exit code 0"),
        (2, "", "kept\nevalkit: no such task\n", "failed", "no such task"),
        (-9, "", "", "killed", "killed by signal 9"),
        (137, "", "", "killed", "killed by signal 9"),
        (143, "", "", "killed", "killed by signal 15"),
    ],
)
def test_outcomes_are_read_from_what_a_process_left(code, printed, said, status, message):
    outcome = read_outcome(code, printed, said)
    assert (outcome.status, outcome.message) == (status, message)
    assert outcome.runs == (("r1",) if status == "done" else ())


def test_a_cell_is_another_one_once_its_files_change(tmp_path):
    (tmp_path / "out.txt").write_text("one\n", encoding="utf-8")
    cell = Cell(task="t", model="predictions:out.txt", arguments=(), out="runs", folder=str(tmp_path))
    before = cell.key
    assert cell.key == before
    (tmp_path / "out.txt").write_text("one two\n", encoding="utf-8")
    assert cell.key != before
