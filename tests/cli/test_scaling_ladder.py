"""The smallest ladder end to end: trained, measured, fitted, reported, and not trained twice."""

import re

import pytest


@pytest.mark.slow
def test_the_smoke_ladder_trains_fits_and_reports_and_goes_on_where_it_was(evalkit, tmp_path):
    folder, report = tmp_path / "ladder", tmp_path / "ladder.md"
    arguments = ("scaling", "ladder", "--preset", "smoke", "--folder", folder, "--report", report, "--resamples", "100")
    outcome = evalkit(*arguments, "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert len(found["points"]["loss"]) == 9
    # Three times the tokens of a source of low entropy: no model comes near it, all learn something.
    assert 0.15 < found["truth"]["on_texts"] < min(found["points"]["loss"]) < 2.5
    text = report.read_text()
    assert text.startswith("<!-- evalkit scaling ladder --preset smoke")
    assert "| largest in |" in text
    assert "holds the truth" in text
    assert (tmp_path / "ladder.svg").stat().st_size < 300_000
    assert (tmp_path / "ladder.png").read_bytes().startswith(b"\x89PNG")
    trained = sorted(path.stat().st_mtime_ns for path in folder.glob("checkpoints/*/model.safetensors"))
    again = evalkit(*arguments, "--json")
    assert again.json == found
    assert sorted(path.stat().st_mtime_ns for path in folder.glob("checkpoints/*/model.safetensors")) == trained
    assert not re.search("rungs in", again.err)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--preset", "huge"), "unknown preset 'huge'; known: smoke, cpu, gpu"),
        (("--report", "ladder.html"), "--report 'ladder.html'; expected a name that ends in .md"),
        (("--text", "none.txt"), "none.txt: no such file"),
        (("--format", "pdf"), "unknown format 'pdf'"),
    ],
)
def test_ladders_that_cannot_be_are_one_line(evalkit, tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    outcome = evalkit("scaling", "ladder", *flags)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == []
