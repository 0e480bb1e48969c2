"""Parts of a kubelet's configuration: which files are some, and what other objects hold."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from quota_advisor.documents.kubernetes.kubelets import is_drop_in, is_kubeadm_patch
from quota_advisor.documents.reader import Document, read_manifest, read_part
from quota_advisor.documents.yaml.split import Part
from quota_advisor.model.manifest import DocumentNote, KubeletConfig, NoteKind

pytestmark = pytest.mark.usefixtures("way")


@pytest.mark.parametrize(
    "path",
    [
        "kubeletconfiguration.yaml",
        "patches/kubeletconfiguration+merge.yaml",
        "kubeletconfiguration0+strategic.json",
        "kubeletconfiguration-worker.yaml",
        "kubeletconfiguration.d.yaml",
    ],
)
def test_kubeadm_tells_its_patches_by_name(path: str) -> None:
    assert is_kubeadm_patch(path)


@pytest.mark.parametrize(
    "path",
    [
        "kubeletconfiguration+json.yaml",
        "kubeletconfiguration1+json.json",
        "kubeletconfiguration.yml",
        "kubeletconfiguration/a.yaml",
        "my-kubeletconfiguration.yaml",
        "kubelet-config.yaml",
    ],
)
def test_other_names_are_no_patches_that_hold_settings(path: str) -> None:
    assert not is_kubeadm_patch(path)


def test_a_drop_in_is_known_by_its_directory() -> None:
    assert is_drop_in("kubelet.conf.d/10.conf")
    assert is_drop_in("/a/b.d/10.conf")
    assert not is_drop_in("kubelet.conf.d/10.yaml")
    assert not is_drop_in("/etc/kubernetes/kubelet.conf")
    assert not is_drop_in("/etc/kubelet.conf.d/sub/10.conf")


def test_a_drop_in_is_one_within_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "kubelet.conf.d"
    directory.mkdir()
    monkeypatch.chdir(tmp_path)
    assert not is_drop_in("10.conf")
    monkeypatch.chdir(directory)
    assert is_drop_in("10.conf")


CONFIGURATION = b"""\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
"""


@pytest.mark.parametrize("name", ["kubelet.conf.d/1.conf", "kubeletconfiguration.yaml"])
def test_what_such_a_file_says_is_a_part(name: str) -> None:
    (found,) = read_manifest(name, CONFIGURATION)
    assert isinstance(found, KubeletConfig)
    assert found.partial
    (found,) = read_manifest("kubelet.yaml", CONFIGURATION)
    assert isinstance(found, KubeletConfig)
    assert not found.partial


@pytest.mark.parametrize("data", [b"cpuManagerPolicy: static\n", b'{"cpuManagerPolicy":"static"}'])
def test_a_patch_of_kubeadm_needs_no_kind_but_a_drop_in_does(data: bytes) -> None:
    (found,) = read_manifest("kubeletconfiguration+merge.json", data)
    assert isinstance(found, KubeletConfig)
    assert found.settings["cpuManagerPolicy"].text == "static"
    assert list(read_manifest("kubelet.conf.d/1.conf", data)) == []


# ---- texts


def kind_config(*patch: str) -> str:
    lines = ["kind: Cluster", "apiVersion: kind.x-k8s.io/v1alpha4", "kubeadmConfigPatches:", *patch]
    return "\n".join(lines) + "\n"


def texts(document: str) -> list[Document]:
    return list(read_manifest("kind.yaml", document.encode()))


@pytest.mark.parametrize(
    "patch",
    [
        ["- |", "  kind: KubeletConfiguration", "  cpuManagerPolicy: static"],
        ["- |- # comment", "  kind: KubeletConfiguration", "  cpuManagerPolicy: static"],
        ["- |+", "", "", "  kind: KubeletConfiguration", "  cpuManagerPolicy: static", ""],
        ["- &a |2", "   kind: KubeletConfiguration", "", "   cpuManagerPolicy: static"],
        ["- |", "  # é", "  {kind: KubeletConfiguration, é: é, cpuManagerPolicy: static}"],
        ["-", "  |", "     kind: KubeletConfiguration", "     cpuManagerPolicy: static"],
        ["- |\r", "  kind: KubeletConfiguration\r", "  cpuManagerPolicy: static\r"],
        ["- |", "  kind: KubeletConfiguration", "  cpuManagerPolicy: static", "  # end", "- x"],
    ],
)
@pytest.mark.parametrize("before", ["", "# é\n---\nkind: X\n---\n"])
def test_a_value_in_a_literal_text_has_its_place_in_the_file(before: str, patch: list[str]) -> None:
    document = before + kind_config(*patch)
    (found,) = texts(document)
    assert isinstance(found, KubeletConfig)
    assert found.partial
    value = found.settings["cpuManagerPolicy"]
    line = document.split("\n")[value.line - 1]
    assert line[value.column - 1 :].startswith("static")


def test_places_count_from_where_a_part_of_a_file_begins() -> None:
    text = kind_config("- |", "  kind: KubeletConfiguration", "  cpuCFSQuota: false").encode()
    (found,) = read_part("kind.yaml", b"x: 1\n---\n" + text, Part(9, 9 + len(text), 700))
    assert isinstance(found, KubeletConfig)
    assert found.settings["cpuCFSQuota"].line == 705


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (['- "kind: KubeletConfiguration\\ncpuManagerPolicy: x\\n"'], "behind | only"),
        (["- >", "  {kind: KubeletConfiguration,", "  cpuManagerPolicy: x}"], "behind | only"),
        (["- {kind: KubeletConfiguration}", "- |", "  kind: Other"], ""),
        (["- KubeletConfiguration"], "behind | only"),
        (["- |", "  kind: KubeletConfiguration", "  x: {{ .Values.x }}"], "cannot be read"),
        (["- |", "  kind: KubeletConfiguration", "  x: [", "- y"], "cannot be read"),
        (["- |", "  kind: Other # KubeletConfiguration"], ""),
        (["- |", "  [KubeletConfiguration]"], ""),
        (["- |", "  kind: KubeletConfiguration\x85  cpuManagerPolicy: x"], "behind | only"),
    ],
)
def test_another_text_is_said_not_to_be_read(patch: list[str], reason: str) -> None:
    found = texts(kind_config(*patch))
    assert [type(item) for item in found] == ([DocumentNote] if reason else [])
    for note in found:
        assert isinstance(note, DocumentNote)
        assert note.kind is NoteKind.SKIPPED
        assert reason in note.text
        assert (note.line, note.column) == (4, 3)


def test_a_text_in_json_is_said_not_to_be_read() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"kubelet": CONFIGURATION.decode()}}
    (found,) = read_manifest("a.json", json.dumps(config, indent=1).encode())
    assert isinstance(found, DocumentNote)
    assert found.kind is NoteKind.SKIPPED


def test_many_texts_on_one_line_are_passed_over_in_time() -> None:
    text = '"KubeletConfiguration",' * 100_000
    started = time.process_time()
    assert len(texts(kind_config(f" [{text}]"))) == 100_000
    assert time.process_time() - started < 20


def test_a_text_or_mapping_that_aliases_repeat_is_read_once() -> None:
    big = [f"  a{number}: 1" for number in range(20_000)]
    aliases = ["- *text"] * 20_000
    document = kind_config("- &text |", "  kind: KubeletConfiguration", *big, *aliases)
    started = time.process_time()
    assert len(texts(document)) == 1
    assert time.process_time() - started < 20

    groups = "- kubeletExtraConfig: &a {cpuCFSQuota: false}\n- kubeletExtraConfig: *a"
    head = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups:\n"
    assert len(texts(head + groups)) == 1
