import json

import pytest

from study.errors import StudyError
from study.training import checkpoints

pytestmark = pytest.mark.torch
DIGEST = "a" * 64


def written(root, step, digest=DIGEST):
    part = root / ".writing" / checkpoints.name_of(step)
    part.mkdir(parents=True)
    (part / "adapter_model.safetensors").write_bytes(b"weights %d" % step)
    (part / "adapter_config.json").write_text(json.dumps({"target_modules": ["v", "a", "q"]}))
    (part / "training_args.bin").write_bytes(b"a pickle")
    (part / "rng_state.pth").write_bytes(b"a generator")
    checkpoints.finalise(part, root / checkpoints.name_of(step), step, digest)


def test_a_finalised_checkpoint_is_complete_and_holds_no_pickle(tmp_path):
    written(tmp_path, 20)
    ((step, path),) = checkpoints.complete(tmp_path)
    assert step == 20
    assert sorted(one.name for one in path.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "complete.json",
    ]
    assert json.loads((path / "adapter_config.json").read_text())["target_modules"] == ["a", "q", "v"]


@pytest.mark.parametrize("harm", ["no record", "cut file", "missing file", "not json", "other format"])
def test_anything_less_is_never_resumed_from(tmp_path, harm):
    written(tmp_path, 20)
    written(tmp_path, 40)
    path = tmp_path / "checkpoint-40"
    if harm == "no record":
        (path / "complete.json").unlink()
    elif harm == "cut file":
        (path / "adapter_model.safetensors").write_bytes(b"weights")
    elif harm == "missing file":
        (path / "adapter_model.safetensors").unlink()
    elif harm == "not json":
        (path / "complete.json").write_text("{")
    else:
        record = json.loads((path / "complete.json").read_text())
        (path / "complete.json").write_text(json.dumps(record | {"format": "study.checkpoint/2"}))
    assert checkpoints.last_for(tmp_path, DIGEST) == (20, tmp_path / "checkpoint-20")


def test_an_incomplete_one_is_moved_aside_and_kept(tmp_path):
    (tmp_path / "checkpoint-20").mkdir()
    (tmp_path / "checkpoint-20" / "half").write_text("x")
    written(tmp_path, 20)
    assert checkpoints.is_complete(tmp_path / "checkpoint-20")
    (aside,) = tmp_path.glob("incomplete-checkpoint-20-*")
    assert (aside / "half").read_text() == "x"


def test_a_complete_one_is_never_replaced(tmp_path):
    written(tmp_path, 20)
    before = (tmp_path / "checkpoint-20" / "complete.json").read_bytes()
    written(tmp_path, 20, "b" * 64)
    assert (tmp_path / "checkpoint-20" / "complete.json").read_bytes() == before


def test_another_configs_checkpoints_are_refused(tmp_path):
    written(tmp_path, 20)
    with pytest.raises(StudyError, match="another config"):
        checkpoints.last_for(tmp_path, "c" * 64)
    assert checkpoints.last_for(tmp_path / "nothing", "c" * 64) is None


def test_the_last_one_is_the_last_by_number(tmp_path):
    written(tmp_path, 100)
    written(tmp_path, 20)
    assert [step for step, _ in checkpoints.complete(tmp_path)] == [20, 100]
    assert checkpoints.last_for(tmp_path, DIGEST) == (100, tmp_path / "checkpoint-100")


@pytest.mark.parametrize("step", ["40", True, 40.0, None, -40, 0])
def test_a_step_is_a_whole_number_above_zero(tmp_path, step):
    written(tmp_path, 40)
    path = tmp_path / "checkpoint-40" / "complete.json"
    record = json.loads(path.read_text()) | {"step": step}
    path.write_text(json.dumps(record))
    (tmp_path / "checkpoint-40").rename(tmp_path / f"checkpoint-{step}")
    assert checkpoints.complete(tmp_path) == []
