"""Nothing in evalkit runs code that came with data or models, and no key is ever written."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("evalkit", "models", "tasks") for path in (ROOT / folder).rglob("*.py"))
CALLS = {"eval", "exec", "compile", "__import__"}
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "joblib"}
FLAGS = {"trust_remote_code", "shell", "allow_pickle"}
OWN = {("spool.py", "marshal")}
"""A file without a name, which no other process can write."""
SHELLS = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput")}


def offences(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in _called(node))
            yield from ((node.lineno, what) for what in _allowed(node, path))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (
                (node.lineno, name)
                for name in names
                if name.partition(".")[0] in MODULES and (path.name, name) not in OWN
            )


def _called(node):
    function = node.func
    if isinstance(function, ast.Name) and function.id in CALLS:
        yield function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        name = (function.value.id, function.attr)
        if name in SHELLS:
            yield ".".join(name)
        if name == ("torch", "load") and not any(
            one.arg == "weights_only" and _is_true(one.value) for one in node.keywords
        ):
            yield "torch.load without weights_only=True"


def _allowed(node, path):
    for keyword in node.keywords:
        if keyword.arg in FLAGS and _is_true(keyword.value) and not _is_ours(path):
            yield f"{keyword.arg}=True"


def _is_true(node):
    return isinstance(node, ast.Constant) and node.value is True


def _is_ours(path):
    # `convert_pickle(..., allow_pickle=True)` is our own flag, behind the user's own flag.
    return path.name == "convert.py"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_can_run_what_it_reads(path):
    assert list(offences(path)) == []


def test_a_key_is_in_no_record_cache_or_message(evalkit, tmp_path, monkeypatch):
    import http.server
    import json
    import threading

    key = "sk-secret-0123456789"

    class Echo(http.server.BaseHTTPRequestHandler):
        """Sends the key back wherever it can."""

        def do_POST(self):
            asked = self.headers.get("Authorization", "")
            size = int(self.headers.get("Content-Length", 0))
            self.rfile.read(size)
            body = json.dumps({"error": {"message": f"{asked} is wrong", "code": asked}}).encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.chdir(tmp_path)
    url = f"openai:model@http://127.0.0.1:{server.server_port}/v1"
    outcome = evalkit("run", "--task", "mini_mt_en_zh", "--model", url, "--limit", "2", "--cache", "cache.sqlite")
    server.shutdown()
    assert outcome.code != 0
    assert key not in outcome.err + outcome.out
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


def test_a_url_with_a_password_is_refused(evalkit):
    outcome = evalkit("run", "--task", "mini_mt_en_zh", "--model", "openai:m@http://user:word@127.0.0.1:1/v1")
    assert outcome.code == 2
    assert "word" not in outcome.err.replace("password", "")
