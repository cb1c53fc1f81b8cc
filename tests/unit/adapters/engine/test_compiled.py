"""Models whose layers torch's compiler has fused: the same values, one compilation for all layers, and clear errors."""

import pytest
import torch

from evalkit.adapters.encoder.passages import Passage
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine import compiling
from evalkit.adapters.engine.blocks import open_stack
from evalkit.adapters.engine.packing import Tree, pack
from evalkit.adapters.seq2seq_steps.steps import T5Steps
from evalkit.errors import EvalkitError, InvalidInputError
from evalkit_models.bert import Bert, BertConfig
from evalkit_models.t5 import T5, T5Config

TREES = [Tree(tuple(range(1 + row % 7, 9 + row % 5))) for row in range(5)]


def read_and_step(stack, count=5):
    """Logits of the last tokens of some sequences, and of two tokens behind each."""
    trees = TREES[:count]
    with torch.inference_mode():
        cache = stack.new_cache(count, 20)
        hidden = [stack.read(pack(trees, [[tree.length - 1] for tree in trees], stack.device), cache)]
        hidden += [stack.step(torch.arange(count) + number, cache) for number in range(2)]
        return torch.cat([stack.logits(one) for one in hidden])


@pytest.fixture
def compilations():
    """How many functions were compiled."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield lambda: torch._dynamo.utils.counters["stats"]["unique_graphs"]
    torch._dynamo.reset()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt", "decoder"])
def test_causal_models_have_the_same_values_from_one_compilation_for_all_layers(
    make_gpt, make_decoder, compilations, family
):
    model = {"gpt": make_gpt, "decoder": make_decoder}[family](layers=10)
    plain, compiled = open_stack(model), open_stack(model, is_compiled=True)
    # The compiler tells one row from several.
    for count in (5, 1, 3):
        torch.testing.assert_close(read_and_step(compiled, count), read_and_step(plain, count), rtol=1e-4, atol=1e-4)
    assert compilations() == 4


@pytest.mark.slow
def test_t5_has_the_same_values_from_one_compilation_for_all_layers(compilations):
    torch.manual_seed(0)
    shape = {"vocab_size": 60, "max_length": 30, "width": 32, "head_width": 8, "heads": 4, "ff_width": 48}
    model = T5(T5Config(**shape, layers=5, decoder_layers=6)).eval()
    plain, compiled = T5Steps(model, 0), T5Steps(model, 0, is_compiled=True)
    torch.testing.assert_close(read_and_step(compiled), read_and_step(plain), rtol=1e-4, atol=1e-4)
    # Five parts; those that both kinds of layers have are compiled for each.
    assert compilations() <= 8


@pytest.mark.slow
def test_bert_has_the_same_values_from_one_compilation_for_all_layers(compilations):
    torch.manual_seed(0)
    bert = Bert(BertConfig(vocab_size=60, max_length=24, width=32, layers=6, heads=4, ff_width=64)).eval()
    passages = [Passage(tuple(range(2, 4 + size)), (0, size)) for size in (9, 5, 5)]
    plain, compiled = BertStack(bert), BertStack(bert)
    compiled.compile()
    torch.testing.assert_close(compiled.read(passages), plain.read(passages), rtol=1e-4, atol=1e-4)
    assert compilations() == 1


def fail(error):
    def compile_nothing(function, **options):
        def run(*arguments):
            raise error

        return run

    return compile_nothing


class OfTheCompiler(RuntimeError):
    __module__ = "torch._inductor.exc"


def test_a_missing_compiler_is_one_line_with_what_it_needs(monkeypatch):
    monkeypatch.setattr(torch, "compile", fail(OfTheCompiler("\nNo working C++ compiler found in CXX\nand more lines")))
    with pytest.raises(InvalidInputError) as caught:
        compiling.check_compiler(torch.device("cpu"))
    assert str(caught.value) == (
        "--compile does not work here: No working C++ compiler found in CXX; it needs a C++ compiler such as g++: install it,"
        " or leave out --compile"
    )


def test_apples_devices_are_refused():
    with pytest.raises(InvalidInputError, match="--compile works on a CPU and on CUDA; leave it out with --device mps"):
        compiling.check_compiler(torch.device("mps"))


def test_a_failure_of_the_compiler_while_it_runs_is_one_line(monkeypatch):
    monkeypatch.setattr(torch, "compile", fail(OfTheCompiler("cannot lower\nthis")))
    with pytest.raises(EvalkitError, match=r"^--compile fails here: cannot lower; leave out --compile$"):
        compiling.region(abs, is_compiled=True)(3)


def test_what_compiled_code_raises_is_not_taken_for_a_failure_of_the_compiler(monkeypatch):
    monkeypatch.setattr(torch, "compile", fail(torch.OutOfMemoryError("out of memory")))
    with pytest.raises(torch.OutOfMemoryError):
        compiling.region(abs, is_compiled=True)(3)


def test_nothing_is_compiled_unless_asked_for():
    assert compiling.region(abs, is_compiled=False) is abs
