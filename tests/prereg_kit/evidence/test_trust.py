"""The trust store: layers, fingerprints, names, and presets that claim nothing they do not have."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import loopback
import pytest

from prereg_kit.errors import DocumentError, NotCheckedError, PreregError, TimestampError, UsageError
from prereg_kit.evidence import trust
from prereg_kit.evidence.token import Anchors
from prereg_kit.evidence.trust import TrustStore

PRESETS = Path(trust.__file__).parent / "trust_store"


@pytest.fixture(scope="module")
def roots() -> tuple[bytes, bytes]:
    return tuple(loopback.authority(name).root.read_bytes() for name in ("alpha", "beta"))


def fingerprint(root: bytes) -> str:
    return Anchors.from_pem(root).fingerprints[0]


def test_presets_are_configuration_without_certificates_or_fingerprints() -> None:
    folders = [p for p in PRESETS.iterdir() if p.is_dir()]
    assert len(folders) >= 5
    for folder in folders:
        assert [p.name for p in folder.iterdir()] == ["operator.json"]
        operator = trust.read_operator(folder)
        assert operator.fingerprints is None
        assert operator.url.startswith(("http://", "https://"))
        assert operator.anchor_source
        assert "anchor not at hand" in operator.missing()


def test_added_roots_are_pinned_kept_and_found_by_name_and_address(
    tmp_path: Path, roots: tuple[bytes, bytes]
) -> None:
    trust.add("mine", [roots[0]], tmp_path, url="http://tsa.example/x", policies=["1.2.3"])
    trust.add("mine", [roots[1]], tmp_path)
    trust.add("mine", [roots[1]], tmp_path)
    store = TrustStore.load([tmp_path], local=None)
    operator = store.operators["mine"]
    assert set(operator.pinned().fingerprints) == {fingerprint(root) for root in roots}
    assert operator.policies == ("1.2.3",)
    assert store.find("other", "http://tsa.example/x/") == operator
    assert store.resolve("http://tsa.example/x") == operator
    assert store.find("other", "") is None


def test_a_root_for_a_preset_keeps_the_presets_address(tmp_path: Path, roots: tuple[bytes, bytes]) -> None:
    (tmp_path / "freetsa").mkdir()
    (tmp_path / "freetsa/root.pem").write_bytes(roots[0])
    operator = TrustStore.load([tmp_path], local=None).operators["freetsa"]
    assert operator.url == "https://freetsa.org/tsr"
    assert operator.pinned().fingerprints == (fingerprint(roots[0]),)
    assert operator.origin == str(tmp_path / "freetsa")


def test_later_layers_win(
    tmp_path: Path, roots: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert trust.user_folder() == tmp_path / "config/prereg/trust"
    trust.add("mine", [roots[0]], trust.user_folder(), url="http://one/")
    assert TrustStore.load(local=None).operators["mine"].url == "http://one/"
    trust.add("mine", [roots[1]], tmp_path / "trust", url="http://two/")
    store = TrustStore.load(local=tmp_path / "trust")
    assert store.operators["mine"].url == "http://two/"
    assert store.operators["mine"].pinned().fingerprints == (fingerprint(roots[1]),)


def test_a_stated_fingerprint_must_be_the_certificates(tmp_path: Path, roots: tuple[bytes, bytes]) -> None:
    with pytest.raises(TimestampError) as caught:
        trust.add("mine", [roots[0]], tmp_path, fingerprint=fingerprint(roots[1]))
    assert fingerprint(roots[0]) in str(caught.value)
    assert not (tmp_path / "mine").exists()
    shown = fingerprint(roots[0]).upper()
    trust.add("mine", [roots[0]], tmp_path, fingerprint=":".join(shown[i : i + 2] for i in range(0, 64, 2)))


def test_a_certificate_slipped_into_the_folder_is_not_pinned(
    tmp_path: Path, roots: tuple[bytes, bytes]
) -> None:
    trust.add("mine", [roots[0]], tmp_path)
    (tmp_path / "mine/evil.pem").write_bytes(roots[1])
    with pytest.raises(TimestampError, match="another fingerprint"):
        TrustStore.load([tmp_path], local=None).operators["mine"].pinned()


@pytest.mark.parametrize("name", ["demo", "", "A", "a/b", "..", "é", "-a", "a" * 70])
def test_unusable_operator_names_are_refused(name: str, tmp_path: Path, roots: tuple[bytes, bytes]) -> None:
    with pytest.raises(UsageError):
        trust.add(name, [roots[0]], tmp_path)


def test_a_folder_called_demo_pins_nothing(tmp_path: Path, roots: tuple[bytes, bytes]) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/root.pem").write_bytes(roots[0])
    assert "demo" not in TrustStore.load([tmp_path], local=None).operators


def test_what_is_no_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError):
        trust.add("mine", [b"hello"], tmp_path)


@pytest.mark.parametrize("which", ["tsa.pem", "self-signed"])
def test_a_certificate_that_issues_no_others_is_no_anchor(which: str, tmp_path: Path) -> None:
    if which == "self-signed":
        leaf = loopback.self_signed_leaf()
    else:
        leaf = (loopback.authority("alpha").folder / which).read_bytes()
    with pytest.raises(TimestampError, match="may not issue others") as caught:
        trust.add("mine", [leaf], tmp_path / "trust")
    assert caught.value.code == "anchor"
    assert not (tmp_path / "trust").exists()


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://host/",
        "http://u:secret@host/",
        "http://secret@host/",
        "http://host/\nX: y",
        "http://ho\tst/",
        "http://host/a b",
        "http://",
        "https://host:99999/",
        "http://hoſt/",
    ],
)
def test_an_address_that_may_not_be_recorded_is_refused(
    url: str, tmp_path: Path, roots: tuple[bytes, bytes]
) -> None:
    with pytest.raises(UsageError, match="not an address") as caught:
        trust.add("mine", [roots[0]], tmp_path / "trust", url=url)
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "trust").exists()


def test_the_stricter_of_the_plans_and_the_operators_accuracy_holds(
    tmp_path: Path, roots: tuple[bytes, bytes]
) -> None:
    minute, hour = dt.timedelta(minutes=1), dt.timedelta(hours=1)
    silent = trust.add("silent", [roots[0]], tmp_path)
    loose = trust.add("loose", [roots[0]], tmp_path, max_accuracy_seconds=3600)
    assert silent.accuracy_limit(None) == dt.timedelta(minutes=5)
    assert (silent.accuracy_limit(hour), loose.accuracy_limit(None)) == (hour, hour)
    assert (loose.accuracy_limit(minute), loose.accuracy_limit(2 * hour)) == (minute, hour)
    assert trust.add("loose", [roots[1]], tmp_path).max_accuracy_seconds == 3600


@pytest.mark.parametrize(
    "given",
    [
        "nobody",
        "ftp://x/",
        "http://",
        "http://u:secret@host/",
        "http://host:notaport/",
        "javascript://x",
        "://",
    ],
)
def test_unknown_names_and_other_addresses_are_refused_and_secrets_not_repeated(given: str) -> None:
    with pytest.raises(UsageError) as caught:
        TrustStore.load(local=None).resolve(given)
    assert "secret" not in str(caught.value)


def test_an_unknown_address_gets_a_name_from_its_host_and_port() -> None:
    store = TrustStore.load(local=None)
    assert store.resolve("http://Tsa.Example/a").name == "tsa.example"
    assert store.resolve("http://127.0.0.1:8080/a").name == "127.0.0.1-8080"
    assert store.resolve("http://[::1]:8080/a").name == "1-8080"
    assert store.resolve("https://freetsa.org/tsr").name == "freetsa"


@pytest.mark.parametrize(
    "config",
    [
        {"format": "prereg.operator/2", "name": "x"},
        {"format": "prereg.operator/1", "name": "y"},
        {"format": "prereg.operator/1", "name": "x", "surprise": 1},
        {"format": "prereg.operator/1", "name": "x", "url": 5},
        {"format": "prereg.operator/1", "name": "x", "policies": "1.2"},
        {"format": "prereg.operator/1", "name": "x", "fingerprints": ["zz"]},
        {"format": "prereg.operator/1", "name": "x", "url": "file:///etc/passwd"},
        {"format": "prereg.operator/1", "name": "x", "url": "http://u:secret@host/"},
        {"format": "prereg.operator/1", "name": "x", "policies": ["none"]},
        {"format": "prereg.operator/1", "name": "x", "max_accuracy_seconds": True},
        {"format": "prereg.operator/1", "name": "x", "max_accuracy_seconds": 0},
        {"name": "x"},
        [],
    ],
)
def test_a_configuration_that_is_none_is_refused(config: object, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/operator.json").write_text(json.dumps(config))
    with pytest.raises(PreregError) as caught:
        TrustStore.load([tmp_path], local=None)
    assert "secret" not in str(caught.value)


def test_a_given_folder_that_is_not_there_is_not_passed_over() -> None:
    with pytest.raises(NotCheckedError):
        TrustStore.load(["no-such-folder"], local=None)
