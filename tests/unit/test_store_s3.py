"""Runs kept on an S3-compatible server of the test's own: written, read, compared, checked, and lost on the way."""

import json

import pytest

pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'evalkit[s3]'")
moto_server = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'moto[server]'")


@pytest.fixture
def server(monkeypatch):
    import s3fs

    served = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    host, port = served.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().makedirs("runs-of-a-team", exist_ok=True)
    yield served
    served.stop()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def address(server, request):
    """A prefix of this test alone, for the server's memory outlives it."""
    return f"s3://runs-of-a-team/{request.node.name}"


def run(evalkit, address, model):
    outcome = evalkit("run", "--task", "mini_mt_en_zh", "--model", model, "--limit", "20", "--out", address, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json["runs"][0]


def test_runs_on_a_server_are_read_like_those_in_a_folder(evalkit, address):
    import s3fs

    copied, found = (run(evalkit, address, f"baseline:{name}") for name in ("copy", "tfidf"))
    system = s3fs.S3FileSystem()
    assert json.loads(system.cat_file(f"{address}/{copied['id']}/run.json")) == copied
    assert len(system.cat_file(f"{address}/{copied['id']}/samples.jsonl").splitlines()) == 20
    gate = evalkit("gate", "--baseline", f"{address}/{found['id']}", "--candidate", f"{address}/{copied['id']}")
    assert gate.code == 1
    compared = evalkit("compare", f"{address}/{copied['id']}", f"{address}/{found['id']}", "--json")
    assert compared.code == 0
    assert evalkit("doctor", "--store", address).out == "2 sound runs, 0 findings\n"


def test_a_run_whose_record_was_not_written_is_found(evalkit, address):
    import s3fs

    record = run(evalkit, address, "baseline:copy")
    s3fs.S3FileSystem().rm_file(f"{address}/{record['id']}/run.json")
    outcome = evalkit("doctor", "--store", address, "--json")
    assert outcome.code == 1
    [finding] = outcome.json["findings"]
    assert (finding["kind"], finding["name"]) == ("cut", record["id"])


def test_a_server_that_goes_away_costs_one_line_and_no_number(evalkit, address, monkeypatch):
    import s3fs

    def drop(*_arguments, **_settings):
        raise ConnectionError("Connection reset by peer")

    monkeypatch.setattr(s3fs.S3FileSystem, "_open", drop)
    outcome = evalkit("run", "--task", "mini_mt_en_zh", "--model", "baseline:copy", "--limit", "5", "--out", address)
    assert outcome.code == 2
    assert "mini_mt_en_zh" in outcome.out
    assert "could not be kept" in outcome.err
    assert "Connection reset by peer" in outcome.err
    assert "Traceback" not in outcome.err
    assert s3fs.S3FileSystem().find(address) == []


def test_a_server_that_is_not_there_is_refused_before_any_work(evalkit, server, address):
    import s3fs

    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()
    outcome = evalkit("run", "--task", "mini_mt_en_zh", "--model", "baseline:copy", "--limit", "5", "--out", address)
    server.start()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"evalkit: cannot write runs into '{address}'")
    assert len(outcome.err.splitlines()) == 1
