"""Masks and positions, written out; kernels differ in what a softmax over nothing gives, so no mask may ask for it."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from evalkit_models.layers import causal_mask, merge_heads, padding_mask, split_heads, token_positions


def test_causal_mask_hides_later_tokens_and_padding_but_no_position_from_itself():
    seen = causal_mask(torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0]]))
    assert seen.dtype == torch.bool
    assert seen[:, 0].long().tolist() == [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]],
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
    ]


def test_padding_mask_hides_padding_but_from_rows_without_tokens():
    seen = padding_mask(torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 0]]))
    assert seen[:, 0, 0].long().tolist() == [[0, 1, 1], [1, 0, 0], [1, 1, 1]]
    assert padding_mask(None) is None


def test_positions_count_tokens_and_not_padding():
    ids = torch.zeros(3, 4, dtype=torch.long)
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0]])
    assert token_positions(ids, mask).tolist() == [[0, 0, 0, 1], [0, 1, 2, 2], [0, 0, 0, 0]]
    assert token_positions(ids, mask.bool()).tolist() == token_positions(ids, mask).tolist()
    assert token_positions(ids, None).tolist() == [0, 1, 2, 3]


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
def test_every_query_sees_at_least_one_key(rows):
    mask = torch.tensor(rows)
    assert causal_mask(mask).any(dim=-1).all()
    assert padding_mask(mask).any(dim=-1).all()


def test_heads_are_neighbouring_slices_and_merge_again():
    x = torch.arange(2 * 3 * 8).view(2, 3, 8)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    assert torch.equal(heads[:, 1], x[..., 2:4])
    assert torch.equal(merge_heads(heads), x)
