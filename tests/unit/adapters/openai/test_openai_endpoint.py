import pytest

from evalkit.adapters.openai_api import Endpoint, parse_endpoint
from evalkit.errors import InvalidInputError, UnknownNameError


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("m@http://h:80/v1", Endpoint(model="m", url="http://h:80/v1")),
        ("m@https://h", Endpoint(model="m", url="https://h/v1")),
        ("org/m@rev@https://H.example/x/", Endpoint(model="org/m@rev", url="https://h.example/x")),
        ("模型 1@http://[::1]:8/v1", Endpoint(model="模型 1", url="http://[::1]:8/v1")),
        ("m@http://h?api=chat&timeout=2.5", Endpoint(model="m", url="http://h/v1", api="chat", timeout_s=2.5)),
        ("m@http://h/v1?prefix=%3Cs%3E", Endpoint(model="m", url="http://h/v1", prefix="<s>")),
    ],
)
def test_a_target_names_a_model_and_a_url(target, expected):
    assert parse_endpoint(target) == expected


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("", "no URL or no name"),
        ("m", "no URL or no name"),
        ("@http://h", "no URL or no name"),
        ("m@h:8000", "no URL or no name"),
        ("m@ftp://ann:s3cret@h", "no URL or no name"),
        ("m@http://ann:s3cret@h/v1", "user name or password"),
        ("m@http://s3cret@h/v1", "user name or password"),
        ("m@http://h:s3cret/v1", "port is not a number"),
        ("m@http://h:99999/v1", "port is not a number"),
        ("m@http://h/s3 cret", "spaces"),
        ("m@http://h/v1\n?s3cret", "spaces|no URL"),
        ("m@http:///v1", "no host"),
        ("m@http://h/v1#s3cret", "'#'"),
        ("m@http://h/v1?s3cret", "options cannot be read"),
        ("m@http://h/v1/chat/completions", "expected the base before it"),
        ("m@http://h?timeout=0", "seconds above 0"),
        ("m@http://h?timeout=soon", "seconds above 0"),
    ],
)
def test_an_unusable_target_is_refused_without_showing_secrets(target, message):
    with pytest.raises(InvalidInputError, match=message) as raised:
        parse_endpoint(target)
    assert "s3" not in str(raised.value)


def test_an_unknown_option_names_the_nearest_one_and_not_its_value():
    with pytest.raises(UnknownNameError, match="unknown URL option 'timeouts'; did you mean 'timeout'") as raised:
        parse_endpoint("m@http://h?timeouts=s3cret")
    assert "s3cret" not in str(raised.value)
    with pytest.raises(UnknownNameError, match="known: completions, chat"):
        parse_endpoint("m@http://h?api=responses")
