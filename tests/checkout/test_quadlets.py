"""What rules read of a quadlet is there, whichever of its files it stands in."""

from __future__ import annotations

from quota_advisor.checkout.quadlets import merge_quadlets
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import QUADLET_SECTIONS, Quadlet
from quota_advisor.model.unit import standing

OWN = "".join(f"[{section}]\nKey{section}=own\n" for section in QUADLET_SECTIONS)
FILES = {
    "app/web.container": f"{OWN}[Service]\nCPUQuota=50%\nNice=5\n",
    "app/web.container.d/more.conf": "[Container]\nPodmanArgs=--cpus=2\n[Service]\nNice=6\n",
}


def merged() -> Quadlet:
    files = [parse_unit_file(path, text.encode()) for path, text in FILES.items()]
    (found,) = merge_quadlets(files)
    return found


def test_every_field_of_a_quadlet_is_filled() -> None:
    quadlet = merged()
    assert quadlet.name == "web.container"
    assert [file.path for file in quadlet.files] == list(FILES)
    assert quadlet.service.name == "web.service"
    assert not isinstance(quadlet.service.fragment, Missing)
    assert set(Quadlet._fields) == {"name", "files", "service"}, "hold the new field here, too"


def test_every_key_of_its_own_sections_is_kept() -> None:
    quadlet = merged()
    for section in QUADLET_SECTIONS:
        assert [a.value for a in standing(quadlet.files, section, f"Key{section}")] == ["own"]
    assert [a.value for a in standing(quadlet.files, "Container", "PodmanArgs")] == ["--cpus=2"]


def test_its_service_gets_every_key_that_is_for_systemd_and_no_other() -> None:
    service = merged().service
    assert service.quota_per_sec_usec == 500_000
    assert service.last("Service", "Nice") == "6"
    assert {a.section for file in service.files for a in file.assignments} == {"Service"}
