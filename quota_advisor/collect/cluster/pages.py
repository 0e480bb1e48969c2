"""Lists of the API in pages, however many objects there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from quota_advisor.collect.cluster.connection import Connection, RefusedError
from quota_advisor.collect.cluster.shape import mapping, maps, text
from quota_advisor.errors import CollectError

PAGE = 500
"""Objects in one answer: enough for few answers, little enough for flat memory."""

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Representation of a list without specs: a tenth of its size."""

MAX_STARTS = 3
"""Times a list is begun anew when its token expires; a cluster so slow is not listed at all."""

Object = Mapping[str, Any]
T = TypeVar("T")


def list_all(
    connection: Connection,
    path: str,
    read: Callable[[Object], T],
    *,
    selector: str = "",
    accept: str = "",
) -> list[T]:
    """Return what is read of all objects of a list; of the objects no page is kept.

    A list that takes too long expires (410): its next token leads to objects of another moment, so
    it is begun anew.

    Args:
        connection: To the API server.
        path: Of the list.
        read: Makes something smaller of each object.
        selector: Labels of the objects, in kubectl's notation.
        accept: A representation other than plain JSON.

    Raises:
        CollectError: The server refuses, or the list expires over and over.
    """
    for _ in range(MAX_STARTS):
        try:
            pages = _pages(connection, path, selector, accept)
            return [read(item) for page in pages for item in page]
        except RefusedError as error:
            if error.code != HTTPStatus.GONE:
                raise
    raise CollectError(f"{path}: the list expired {MAX_STARTS} times before it was read")


def _pages(connection: Connection, path: str, selector: str, accept: str) -> Iterator[list[Object]]:
    token = ""
    while True:
        query: dict[str, str | int] = {"limit": PAGE}
        if selector:
            query["labelSelector"] = selector
        if token:
            query["continue"] = token
        page = connection.get(path, query, accept)
        if not isinstance(page, dict) or not isinstance(page.get("items") or [], list):
            raise CollectError(f"{path}: the answer is not a list")
        yield maps(page, "items")
        token = text(mapping(page, "metadata"), "continue")
        if not token:
            return
