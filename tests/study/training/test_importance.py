import math

import pytest
import torch

from study.training.importance import MODES, weigh

pytestmark = pytest.mark.torch
SAMPLING = torch.zeros(3, 4)
TRAINING = torch.tensor([[0.1, -0.2, 9.0, 0.3], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
MASK = torch.tensor([[1, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]])


def test_off_is_one_everywhere_and_still_says_the_gap():
    weights = weigh(TRAINING, SAMPLING, MASK, "off", 3.0)
    assert weights.factor.tolist() == [[1.0]] * 3
    assert weights.log_ratio.tolist() == pytest.approx([0.2, 2.0, 0.0])
    assert (weights.masked, weights.effective) == (0.0, 1.0)


def test_sequence_mask_is_trls_default():
    weights = weigh(TRAINING, SAMPLING, MASK, "sequence_mask", 3.0)
    assert weights.row.tolist() == pytest.approx([math.exp(0.2), 0.0, 1.0])  # e^2 > 3 is masked
    assert weights.masked == pytest.approx(1 / 3)
    total, square = math.exp(0.2) + 1, math.exp(0.4) + 1
    assert weights.effective == pytest.approx(total**2 / (3 * square))


def test_the_ablations():
    assert weigh(TRAINING, SAMPLING, MASK, "sequence_truncate", 3.0).row.tolist() == pytest.approx(
        [math.exp(0.2), 3.0, 1.0]
    )
    assert weigh(TRAINING, SAMPLING, MASK, "geometric_mask", 3.0).row.tolist() == pytest.approx(
        [math.exp(0.2 / 3), math.exp(0.5), 1.0]
    )
    token = weigh(TRAINING, SAMPLING, MASK, "token_truncate", 2.0)
    assert token.factor[1].tolist() == pytest.approx([2.0, 2.0, 1.0, 1.0])
    assert token.row[1] == pytest.approx(1.5)
    assert weigh(TRAINING, SAMPLING, MASK, "token_mask", 2.0).factor[1, 0] == 0.0


def test_tool_results_and_missing_probabilities_carry_no_weight():
    sampling = SAMPLING.clone()
    sampling[1, 0] = float("nan")
    weights = weigh(TRAINING, sampling, MASK, "sequence_mask", 3.0)
    assert weights.log_ratio.tolist() == pytest.approx([0.2, 1.0, 0.0])


@pytest.mark.parametrize("mode", ["token_mask", "token_truncate", "sequence_mask", "sequence_truncate"])
def test_agrees_with_trls_own_arithmetic(mode):
    gap = (TRAINING - SAMPLING) * MASK
    ratio = torch.exp(gap.sum(-1, keepdim=True) if mode.startswith("sequence") else gap)
    want = ratio.clamp(max=1.5) if mode.endswith("truncate") else ratio.masked_fill(ratio > 1.5, 0.0)
    assert torch.equal(weigh(TRAINING, SAMPLING, MASK, mode, 1.5).factor, want)


def test_the_trap_noise_of_a_token_grows_with_the_episode():
    """The same rounding noise a token: the sequence weight scatters with the length, the geometric one does not."""
    generator = torch.Generator().manual_seed(0)
    spread = {}
    for length in (20, 400):
        gap = 0.05 * torch.randn(2000, length, generator=generator)
        ones = torch.ones(2000, length)
        for mode in ("sequence_truncate", "geometric_mask"):
            spread[mode, length] = weigh(gap, torch.zeros_like(gap), ones, mode, 1e9).effective
    assert spread["sequence_truncate", 20] > 0.9 > 0.5 > spread["sequence_truncate", 400]
    assert spread["geometric_mask", 400] > 0.99


def test_an_unknown_mode_is_refused():
    assert len(MODES) == 6
    with pytest.raises(ValueError, match="no importance mode"):
        weigh(TRAINING, SAMPLING, MASK, "magic", 3.0)
