import pytest
import torch

from study.training import delta_rule

pytestmark = pytest.mark.torch


def _inputs(time, dtype=torch.float32, heads=3, key=8, value=6, batch=2):
    torch.manual_seed(time)
    query, keys = (torch.randn(batch, time, heads, key, dtype=dtype) for _ in range(2))
    values = torch.randn(batch, time, heads, value, dtype=dtype)
    decay = -torch.rand(batch, time, heads, dtype=dtype)
    return query, keys, values, decay, torch.rand(batch, time, heads, dtype=dtype)


@pytest.mark.parametrize("time", [1, 31, 32, 33, 100])
def test_agrees_with_the_stock_rule(time):
    inputs = _inputs(time)
    want, state = delta_rule.STOCK(*inputs, output_final_state=True, use_qk_l2norm_in_kernel=True)
    got, own = delta_rule.solved_chunk_gated_delta_rule(
        *inputs, output_final_state=True, use_qk_l2norm_in_kernel=True
    )
    assert (want - got).abs().max() < 3e-7 * max(1.0, float(want.abs().max()) * 4)
    assert (state - own).abs().max() < 2e-6


def test_is_the_recurrence_it_stands_for():
    query, keys, values, decay, beta = _inputs(40, torch.float64, heads=1, batch=1)
    got, last = delta_rule.solved_chunk_gated_delta_rule(
        query, keys, values, decay, beta, output_final_state=True, use_qk_l2norm_in_kernel=True
    )
    state = torch.zeros(8, 6, dtype=torch.float64)
    for t in range(40):
        q, k = (x[0, t, 0] / (x[0, t, 0].square().sum() + 1e-6).sqrt() for x in (query, keys))
        state = state * decay[0, t, 0].exp()
        state = state + torch.outer(k, (values[0, t, 0] - k @ state) * beta[0, t, 0])
        assert torch.allclose(got[0, t, 0], (q / 8**0.5) @ state, atol=1e-12)
    assert torch.allclose(last[0, 0], state, atol=1e-12)


def test_continues_from_a_state():
    inputs = _inputs(70, torch.float64)
    whole, _ = delta_rule.solved_chunk_gated_delta_rule(*inputs)
    _, state = delta_rule.solved_chunk_gated_delta_rule(*(x[:, :45] for x in inputs), output_final_state=True)
    rest, _ = delta_rule.solved_chunk_gated_delta_rule(*(x[:, 45:] for x in inputs), initial_state=state)
    assert torch.allclose(whole[:, 45:], rest, atol=1e-12)


def test_gradients_are_right():
    inputs = [x.requires_grad_() for x in _inputs(5, torch.float64, heads=1, batch=1)]
    assert torch.autograd.gradcheck(
        lambda *x: delta_rule.solved_chunk_gated_delta_rule(*x, chunk_size=4)[0], inputs, atol=1e-6
    )


def test_bind_says_what_is_bound():
    delta_rule.bind("stock")
    assert delta_rule.bound()["chunk_gated_delta_rule"].endswith("torch_chunk_gated_delta_rule")
    delta_rule.bind("solve")
    assert delta_rule.bound()["chunk_gated_delta_rule"].endswith("solved_chunk_gated_delta_rule")
    with pytest.raises(ValueError, match="stock"):
        delta_rule.bind("fast")
