"""What files under version control say about CPU: pods, compose services, kubelet settings.

Lint judges tens of thousands of these in a second, so they are named tuples: as immutable as a
frozen dataclass and four times as fast to make. Places are line and column of the first character
of the *value*, counted from 1; the file is known to the object that holds the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from quota_advisor.model.finding import Subject
from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression
from quota_advisor.records import NamedTuple

if TYPE_CHECKING:
    from quota_advisor.model.unit import UnitConfig, UnitFile


class Scalar(NamedTuple):
    """A scalar as written, before anyone gives it a type.

    Attributes:
        text: Its text, quotes and escapes resolved.
        plain: Written without quotes: ``010`` is then a number, ``"010"`` a text.
        line: Line of its first character (of the quote, where quoted).
        column: Column of its first character.
    """

    text: str
    plain: bool
    line: int
    column: int


class FileScalar(Scalar):
    """A scalar that knows its file: the object that holds it is made of several.

    A type of its own, so that the many scalars of pods carry nothing that they do not need.

    Attributes:
        file: The file.
    """

    file: str

    @classmethod
    def of(cls, scalar: Scalar, file: str) -> Self:
        """Return a scalar of a file."""
        made = cls(*scalar)
        made.file = file
        return made

    def part(self, text: str, *, plain: bool, offset: int = 0) -> Self:
        """Return a part of its text, which stands in the same line."""
        return self.of(Scalar(text, plain, self.line, self.column + offset), self.file)


class Place(NamedTuple):
    """A place in the file of the object at hand."""

    line: int
    column: int


class WrongShape(NamedTuple):
    """Something that is not of the type it must have: text for a map, a map for a list.

    Attributes:
        path: Where in the object, for example ``spec.containers[0].resources.limits``.
        expected: ``a mapping``, ``a list``, ``a scalar``.
        found: The same for what stands there.
        file: The file it stands in, where the object is made of several; else empty.
    """

    path: str
    expected: str
    found: str
    line: int
    column: int
    file: str = ""


Amounts = Mapping[str, Scalar]
"""Resource name to quantity; only ``cpu`` and ``memory``. A null value is left out."""


class Resources(NamedTuple):
    """A ``resources`` stanza.

    Attributes:
        requests: As written; defaults from limits are applied by :class:`PodCpu` of ``derive``.
        limits: As written.
        place: Of the stanza, or of what holds it where there is none.
        present: Whether there is a stanza at all.
    """

    requests: Amounts
    limits: Amounts
    place: Place
    present: bool


class ResourceRef(NamedTuple):
    """An environment variable (or file) taken from the downward API.

    Attributes:
        resource: For example ``limits.cpu``.
        divisor: As written; None where the default of 1 applies.
        container: Name of the container it refers to; None for its own.
    """

    resource: str
    divisor: Scalar | None
    container: str | None
    line: int
    column: int


class Role(StrEnum):
    """How a container takes part in its pod's life.

    Attributes:
        MADE: Somebody makes it with resources that an object holds; no more is known of it.
    """

    APP = "app"
    INIT = "init"
    SIDECAR = "sidecar"
    EPHEMERAL = "ephemeral"
    MADE = "made"


class Container(NamedTuple):
    """One container of a pod template.

    Attributes:
        role: A sidecar is an init container with ``restartPolicy: Always``, or what a workflow
            engine calls so.
        name: As written, in a workflow behind that of its template; ``containers[0]`` where it has
            none, and the path of its resources where nothing else is known of it.
        image: As written, or empty.
        command: ``command`` and ``args`` one after the other.
        env: Variables with a value or a resource reference; others are left out.
        resources: Its ``resources``.
        place: Of its first key.
        path: Where in the object, for example ``spec.template.spec.containers[0]``.
    """

    role: Role
    name: str
    image: str
    command: tuple[Scalar, ...]
    env: Mapping[str, Scalar | ResourceRef]
    resources: Resources
    place: Place
    path: str


class Pod(NamedTuple):
    """A pod template, found by its shape in an object of any kind.

    Attributes:
        file: Path as given by the user.
        api_version: Of the object that holds it.
        kind: Likewise.
        name: ``metadata.name`` of that object; ``generateName`` with ``*``; empty for none.
        namespace: Likewise; empty where the object does not say.
        path: Where the pod's spec is in the object, for example ``spec.template.spec``.
        containers: All of them: init containers and sidecars first, ephemeral ones last.
        resources: Pod-level resources.
        volume_refs: Downward-API files by path.
        annotations: Of the object and of the template; the template's win.
        windows: ``spec.os.name`` or a node selector says Windows.
        partial: A kustomize patch, or an object that an operator or a workflow engine makes the
            pod of: what it does not say may stand elsewhere.
        suppressions: Comments inside the document and ``quota-advisor.io/ignore.…`` annotations.
        wrong_shapes: What could not be read as what it must be.
        misplaced: ``resources``, ``limits``, ``requests`` found where the API has no such field.
        place: Of the object's first key.
        restart_policy: ``restartPolicy`` as written; empty where it is not.
    """

    file: str
    api_version: str
    kind: str
    name: str
    namespace: str
    path: str
    containers: tuple[Container, ...]
    resources: Resources
    volume_refs: Mapping[str, ResourceRef]
    annotations: Mapping[str, Scalar]
    windows: bool
    partial: bool
    suppressions: tuple[Suppression, ...]
    wrong_shapes: tuple[WrongShape, ...]
    misplaced: tuple[Misplaced, ...]
    place: Place
    restart_policy: str = ""

    @property
    def subject(self) -> Subject:
        """What a finding about the pod names."""
        name = qualified(self.namespace, self.name) if self.name else self.file
        return Subject(kind=self.kind, name=name)

    def at(self, where: Scalar | Place | WrongShape | ResourceRef | Misplaced) -> Location:
        """Return a place in the pod's file."""
        return Location(file=self.file, line=where.line, column=where.column)


class Misplaced(NamedTuple):
    """A key about resources where the API has no such field.

    Attributes:
        key: ``resources``, ``limits``, ``requests``, ``cpu``.
        path: Where it stands.
        belongs: Where it belongs, for example ``spec.containers[0].resources``.
    """

    key: str
    path: str
    belongs: str
    line: int
    column: int


class LimitRange(NamedTuple):
    """What a LimitRange says of CPU.

    Attributes:
        default_limit: ``default.cpu``, which ``max.cpu`` stands in for.
        default_request: ``defaultRequest.cpu``, which default limit, then ``min.cpu`` stand in for.
        least: ``min.cpu`` of a container.
        most: ``max.cpu`` of a container.
        ratio: ``maxLimitRequestRatio.cpu`` of a container.
        pod_least: ``min.cpu`` of a pod as a whole.
        pod_most: ``max.cpu`` of a pod as a whole.
    """

    file: str
    namespace: str
    name: str
    default_limit: Scalar | None
    default_request: Scalar | None
    place: Place
    least: Scalar | None = None
    most: Scalar | None = None
    ratio: Scalar | None = None
    pod_least: Scalar | None = None
    pod_most: Scalar | None = None

    @property
    def location(self) -> Location:
        """Where it stands."""
        return Location(file=self.file, line=self.place.line, column=self.place.column)

    @property
    def is_about_cpu(self) -> bool:
        """Whether it says anything of CPU."""
        container = (self.default_limit, self.default_request, self.least, self.most, self.ratio)
        return any(amount is not None for amount in (*container, self.pod_least, self.pod_most))


class ResourceQuota(NamedTuple):
    """A ResourceQuota's constraints on CPU; none for one that is about some pods only.

    Attributes:
        limit: ``limits.cpu``, for all pods of the namespace together; with it, every container
            must state one.
        request: ``requests.cpu`` (or ``cpu``) likewise.
    """

    file: str
    namespace: str
    name: str
    limit: Scalar | None
    request: Scalar | None
    place: Place

    @property
    def location(self) -> Location:
        """Where it stands."""
        return Location(file=self.file, line=self.place.line, column=self.place.column)

    @property
    def is_about_cpu(self) -> bool:
        """Whether it says anything of CPU."""
        return self.limit is not None or self.request is not None


class ExtendsFault(StrEnum):
    """Why an ``extends`` was not resolved.

    Attributes:
        REFUSED: It leads nowhere: compose refuses the file.
        UNREADABLE: The other file could not be read here.
        NOT_READ: The other file is left alone on purpose; compose may well read it.
    """

    REFUSED = "refused"
    UNREADABLE = "unreadable"
    NOT_READ = "not-read"


class UnresolvedExtends(NamedTuple):
    """An ``extends`` whose service is not known.

    Attributes:
        text: What it extends and why that is not known, in one line.
        fault: What sort of reason.
        file: The file that says so.
    """

    text: str
    fault: ExtendsFault
    line: int
    column: int
    file: str


class UnknownKey(NamedTuple):
    """A key about CPU that compose does not know.

    Attributes:
        key: As written.
        path: Of what holds it, below the service: ``deploy.resources``; empty for the service.
        belongs: Where below the service what it says may belong; none where nothing is like it.
        renamed: Its name alone is wrong, not its place.
        file: The file that it stands in.
    """

    key: str
    path: str
    belongs: tuple[str, ...]
    renamed: bool
    line: int
    column: int
    file: str


class ComposeService(NamedTuple):
    """One service of a compose project: anchors, merges, ``extends`` and override files resolved.

    Its values may stand in several files; each knows its own.

    Attributes:
        file: The file that defines the service; an override file only changes it.
        settings: CPU keys as written: ``cpus``, ``cpu_quota``, ``cpu_period``, ``cpu_shares``,
            ``cpuset``, ``cpu_count``, ``cpu_percent``, ``deploy.resources.limits.cpus``,
            ``deploy.resources.reservations.cpus``, ``deploy.replicas``.
        environment: Variables with a value.
        command: ``entrypoint`` and ``command``, split into words.
        suppressions: Comments in all documents that have a part in it.
        wrong_shapes: What could not be read as what it must be.
        unresolved: What it extends and could not be told.
        unknown_keys: Keys about CPU that compose does not know.
        place: Of the service's key.
    """

    file: str
    name: str
    image: str
    settings: Mapping[str, FileScalar]
    environment: Mapping[str, FileScalar]
    command: tuple[FileScalar, ...]
    suppressions: tuple[Suppression, ...]
    wrong_shapes: tuple[WrongShape, ...]
    unresolved: tuple[UnresolvedExtends, ...]
    unknown_keys: tuple[UnknownKey, ...]
    place: Place

    @property
    def subject(self) -> Subject:
        """What a finding about the service names."""
        return Subject(kind="compose-service", name=self.name)

    def at(self, where: Scalar | WrongShape | UnresolvedExtends | UnknownKey) -> Location:
        """Return the place of one of its values, in whichever file it stands."""
        file = where.file if isinstance(where, _FILED) else self.file
        return Location(file=file, line=where.line, column=where.column)


_FILED = FileScalar | WrongShape | UnresolvedExtends | UnknownKey


class KubeletConfig(NamedTuple):
    """A KubeletConfiguration, or a part of one.

    Attributes:
        settings: Every scalar by its dotted path, for example
            ``cpuManagerPolicyOptions.full-pcpus-only``.
        place: Of its first key.
        partial: A drop-in, a patch, or what an object of another kind holds: what it does not say
            may stand elsewhere.
        holder: The object of another kind.
    """

    file: str
    settings: Mapping[str, Scalar]
    suppressions: tuple[Suppression, ...]
    place: Place
    partial: bool = False
    holder: Subject | None = None

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        return self.holder or Subject(kind="KubeletConfiguration", name=self.file)

    def at(self, where: Scalar | Place) -> Location:
        """Return a place in the file."""
        return Location(file=self.file, line=where.line, column=where.column)


QUADLET_SECTIONS = ("Container", "Pod", "Kube", "Volume", "Network", "Build", "Image")
"""Sections that podman reads itself, each for a kind of file; systemd gets none of their keys."""


class Quadlet(NamedTuple):
    """A podman quadlet (``.container``, ``.pod``, ``.kube`` …) with its drop-ins.

    Attributes:
        name: File name: ``web.container``; for drop-ins alone, what their directory is named for.
        files: Its own, then the drop-ins in the order in which they apply.
        service: What systemd gets of them.
    """

    name: str
    files: tuple[UnitFile, ...]
    service: UnitConfig

    @property
    def kind(self) -> str:
        """The kind, as file names end."""
        return self.name.rpartition(".")[2]

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        return Subject(kind="quadlet", name=self.name)


class NoteKind(StrEnum):
    """What there is to say about a document as a text."""

    BROKEN = "broken"
    RENDER_FIRST = "render-first"
    DUPLICATE_KEY = "duplicate-key"
    UNREADABLE = "unreadable"
    SKIPPED = "skipped"


class DocumentNote(NamedTuple):
    """Something about a document itself, whatever it describes.

    Attributes:
        kind: What sort of thing.
        text: What it is, in one line: the parser's complaint, the key, the reason.
        first: Of a key that is written twice, where it stands first.
    """

    file: str
    kind: NoteKind
    text: str
    line: int
    column: int
    first: Place | None = None

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        return Subject(kind="file", name=self.file)

    @property
    def location(self) -> Location:
        """Where it stands."""
        return Location(file=self.file, line=self.line, column=self.column)


def qualified(namespace: str, name: str) -> str:
    """Return ``namespace/name``, or the name alone where there is no namespace."""
    return f"{namespace}/{name}" if namespace else name
