"""The names that a weight push uses, against what vllm's classes load: facts recorded from its wheel."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest
import torch

from study.errors import StudyError
from study.training.model import CausalLM, published_shape
from study.training.preflight import REQUIRED_GPU
from study.training.weight_sync import PREFIXES, engine_name, prefix_of

pytestmark = pytest.mark.torch
FOLDER = Path(__file__).parent / "vllm_names"
FACTS = json.loads((FOLDER / "facts.json").read_text())
_spec = importlib.util.spec_from_file_location("remake_vllm_names", FOLDER / "remake.py")
remake = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(remake)


def refused(engine_class: str, names) -> list[str]:
    """The names that a class of engine model would not load, by the recorded facts.

    Each prefix of its mapper is replaced in turn; then every part of a name up to the layers must be an attribute.
    """
    facts = FACTS["classes"][engine_class]
    bad = []
    for name in names:
        if any(name.startswith(prefix) for prefix in facts["skipped"]):
            continue
        mapped = name
        for old, new in facts["prefixes"].items():
            if mapped.startswith(old):
                mapped = new + mapped.removeprefix(old)
        place, parts = "", mapped.split(".")
        while place in facts["parts"]:
            if parts[0] not in facts["parts"][place]:
                bad.append(name)
                break
            place = f"{place}.{parts.pop(0)}".removeprefix(".")
    return bad


@pytest.fixture(scope="module")
def ours() -> list[str]:
    """The names of the model in training."""
    with torch.device("meta"):
        return list(CausalLM(published_shape()).state_dict())


@pytest.mark.parametrize("engine_class", sorted(PREFIXES))
def test_every_name_that_is_pushed_is_one_that_the_engine_loads(ours, engine_class):
    assert len(ours) == 321
    assert refused(engine_class, [engine_name(name, prefix_of(engine_class)) for name in ours]) == []


def test_the_names_of_the_model_in_training_are_refused_by_the_published_class(ours):
    """The fault that this mends: all of them but the output head."""
    bad = refused("Qwen3_5ForConditionalGeneration", ours)
    assert len(bad) == 320 and "lm_head.weight" not in bad


def test_pushed_names_are_the_published_checkpoints_own(ours):
    """Against transformers' class of the whole model, whose names are those in the checkpoint."""
    from transformers.models.qwen3_5 import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    with torch.device("meta"):
        whole = Qwen3_5ForConditionalGeneration(Qwen3_5Config(text_config=published_shape().to_dict()))
    language = {name for name in whole.state_dict() if not name.startswith("model.visual.")}
    prefix = prefix_of("Qwen3_5ForConditionalGeneration")
    assert {engine_name(name, prefix) for name in ours} == language


def test_a_class_that_was_never_looked_at_is_refused():
    with pytest.raises(StudyError, match="not known"):
        prefix_of("Qwen4ForCausalLM")


def test_the_facts_are_of_the_version_that_the_full_tier_needs():
    assert FACTS["vllm"] == REQUIRED_GPU["vllm"]
    assert set(FACTS["classes"]) == set(PREFIXES)


SOURCES = {
    "registry": 'X = {"Qwen3_5ForConditionalGeneration": ("a", "Qwen3_5ForConditionalGeneration"),\n'
    '"Qwen3_5ForCausalLM": ("a", "Qwen3_5ForCausalLM")}',
    "a": """
from .b import Tower, Mapped as Base
class Inner:
    def __init__(self):
        self.one, self.layers = make()
class Qwen3_5ForCausalLM(Base):
    def __init__(self):
        self.model = Inner()
    def load_weights(self, weights): return Loader(self)
class Qwen3_5ForConditionalGeneration(Tower):
    hf_to_vllm_mapper = Tower.hf_to_vllm_mapper | M(orig_to_new_prefix={"new.": "y."})
    def __init__(self):
        with mark():
            self.language_model = Qwen3_5ForCausalLM()
""",
    "b": """
class Mapped:
    pass
class Tower:
    hf_to_vllm_mapper = M(orig_to_new_prefix={"old.": "x."}, orig_to_new_stacked={".q": (".qkv", 0)})
    def load_weights(self, weights): return Loader(self, skip_prefixes=["mtp."])
""",
}


def test_the_remake_script_follows_bases_imports_and_joined_mappers():
    found = remake.facts(SOURCES.__getitem__, "1")["classes"]
    both = found["Qwen3_5ForConditionalGeneration"]
    assert both["prefixes"] == {"old.": "x.", "new.": "y."} and both["skipped"] == ["mtp."]
    assert both["parts"] == {
        "": ["language_model"],
        "language_model": ["model"],
        "language_model.model": ["layers", "one"],
    }
    assert (
        found["Qwen3_5ForCausalLM"]["prefixes"] == {} == dict.fromkeys(found["Qwen3_5ForCausalLM"]["skipped"])
    )
    odd = SOURCES | {"b": SOURCES["b"].replace("orig_to_new_stacked", "orig_to_new_regex")}
    with pytest.raises(LookupError, match="also has"):
        remake.facts(odd.__getitem__, "1")


@pytest.mark.slow
def test_the_facts_are_what_the_wheel_says():
    """Run it with STUDY_VLLM_WHEEL=FILE, a wheel from `pip download --no-deps vllm==0.27.1` (313 MB)."""
    wheel = os.environ.get("STUDY_VLLM_WHEEL")
    if wheel is None:
        pytest.skip("STUDY_VLLM_WHEEL names no wheel")
    assert remake.text(remake.of_wheel(Path(wheel))) == (FOLDER / "facts.json").read_text()
