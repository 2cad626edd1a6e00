"""Which recordings folders, patterns and addresses hold.

In:    names of folders, files, patterns with ``*`` and ``?``, or addresses of fsspec such as ``s3://bucket/folder``
Out:   :class:`Found`, one a recording, in order of their names, and remarks on what was left out
State: none

The files of a WFDB record are one recording: its header, the signals and segments that the header names, and what else
has its name. So are a table of BIDS and its JSON. A folder is searched for the endings of formats that are read. Where
it holds WFDB records, its text files are taken for notes and left out. A pattern takes whatever it matches.
"""

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fsspec

from beatwire.errors import UserError, printable
from beatwire.recordings.places import ENDINGS, bids_json, is_address

_TEXT = re.compile(r"\.(csv|tsv|txt)(\.gz)?$", re.IGNORECASE)
_MOST_ENDINGS = 4  # that a remark names
_PATTERN = re.compile(r"[*?\[]")
_STAMPS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "created")


class Found(NamedTuple):
    """A recording of an archive.

    name    its path below the folder that was searched
    source  as ``beatwire.analyze`` takes it
    stamp   differs when one of its files has changed: a hash of their names, sizes and times or tags
    """

    name: str
    source: str
    stamp: str


def check_there(sources: Sequence[str | Path]) -> None:
    """Raise UserError if a folder or a file of this machine is not there; patterns and addresses are found later."""
    for source in sources:
        path = Path(source).expanduser()
        if is_address(str(source)) or _PATTERN.search(str(source)) or path.exists():
            continue
        if not path.with_name(f"{path.name}.hea").exists():
            raise UserError(f"{source}: expected a folder, a pattern or an address of recordings; there is none")


def find(sources: Sequence[str | Path], without: str | Path | None = None) -> tuple[list[Found], list[str]]:
    """Return the recordings of folders, patterns and files, by name, and remarks, one line each.

    Parameters
    ----------
    sources
        Folders, files, patterns, or addresses of these.
    without
        A folder that is not searched: where the results are written.

    Raises
    ------
    UserError
        There is no such folder or file, there is no recording in it, two recordings have one name, or `without` holds
        a folder that is to be searched.
    """
    found: dict[str, Found] = {}
    notes: list[str] = []
    for source in sources:
        for one in _in_source(str(source), without, notes):
            other = found.setdefault(one.name, one)
            if other.source != one.source:
                raise UserError(
                    f"archive: expected one recording of each name; {one.name!r} is {other.source} and {one.source}: "
                    "give the folder that holds both, or archive them into two folders"
                )
    return [found[name] for name in sorted(found)], notes


def _in_source(source: str, without: str | Path | None, notes: list[str]) -> list[Found]:
    """Return the recordings of one source."""
    given = source if is_address(source) else str(Path(source).expanduser().absolute())
    try:
        files, root = fsspec.core.url_to_fs(given)
        root = root.rstrip("/")
        searched = _Searched(files, given.rstrip("/").removesuffix(root))
        is_pattern = bool(_PATTERN.search(root)) and not files.exists(root)
        if is_pattern:
            base = root[: _PATTERN.search(root).start()].rpartition("/")[0]  # type: ignore[union-attr]
            matched = files.glob(root, detail=True)
            folders = [path for path, one in matched.items() if one["type"] == "directory"]
            searched.add_files([path for path, one in matched.items() if one["type"] != "directory"])
        elif files.isdir(root):
            base, folders = root, [root]
        else:
            base, folders = root.rpartition("/")[0], []
            searched.add_files([f"{root}.hea" if not files.exists(root) and files.exists(f"{root}.hea") else root])
        for folder in folders:
            searched.add_folder(folder, without)
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"{source}: expected recordings that can be listed; got: {error}") from None
    found = searched.recordings(base)
    if not found:
        what = "no file matches it" if is_pattern and not searched.chosen else "there is none"
        raise UserError(
            f"{source}: expected a folder, a pattern or an address of recordings; {'; '.join([what, *searched.notes])}"
        )
    notes += [f"{source}: {note}" for note in searched.notes]
    return found


class _Searched:
    """Files of one source: what is listed, and which of them are chosen.

    files   the file system of fsspec
    start   of the addresses of its files; empty on this machine
    listed  path -> what the file system says of it, the files beside the chosen ones too
    chosen  paths in order
    """

    def __init__(self, files: Any, start: str) -> None:
        self.files, self.start = files, start
        self.listed: dict[str, Mapping[str, Any]] = {}
        self.chosen: list[str] = []
        self.notes: list[str] = []

    def add_files(self, paths: Sequence[str]) -> None:
        """Choose files; list what is beside them, where their headers may be."""
        for folder in dict.fromkeys(path.rpartition("/")[0] for path in paths):
            self._list(one for one in self.files.ls(folder or "/", detail=True))
        self.chosen += [path for path in paths if path in self.listed]

    def add_folder(self, folder: str, without: str | Path | None) -> None:
        """Choose the recordings in a folder and the folders in it, by their endings."""
        below = list(self.files.find(folder, detail=True).values())
        start = f"{_place(self._address(folder))}/"
        out = None if without is None else f"{_place(str(without))}/"
        if out is not None and start.startswith(out):
            raise UserError(
                f"--out: expected a folder that does not hold the recordings, as it is not searched; got {without} "
                f"for recordings in {self._address(folder)}"
            )
        paths = self._list(
            one
            for one in below
            if not any(part.startswith(".") for part in one["name"].removeprefix(folder).split("/"))
            and (out is None or not f"{start}{one['name'].removeprefix(folder).lstrip('/')}".startswith(out))
        )
        has_records = any(path.endswith(".hea") for path in paths)
        texts = [path for path in paths if _TEXT.search(path)]
        known = [path for path in paths if _ending(path) in ENDINGS or path.endswith(".hea")]
        self.chosen += known if has_records else [*known, *texts]
        if has_records and texts:
            example = f"{self._address(folder)}/**/*{_TEXT.search(texts[0]).group()}"  # type: ignore[union-attr]
            self.notes.append(
                f"{_left_out(len(texts), 'text file')}, because there are WFDB records: {example!r} takes text"
            )
        owned = self._owners()
        other = [path for path in paths if path not in owned and path not in known and path not in texts]
        if other:
            counts = Counter(_ending(path) or "no ending" for path in other)
            endings = [f"{name} {count}" for name, count in counts.most_common(_MOST_ENDINGS)]
            if len(counts) > _MOST_ENDINGS:
                endings.append(f"others {counts.total() - sum(n for _, n in counts.most_common(_MOST_ENDINGS))}")
            left_out = _left_out(len(other), "file")
            self.notes.append(f"{left_out}, because no recording has such an ending: {', '.join(endings)}")

    def recordings(self, base: str) -> list[Found]:
        """Return the recordings of the chosen files, named by their paths below ``base``."""
        owners = self._owners()
        members: dict[str, set[str]] = {}
        for path, owner in owners.items():
            members.setdefault(owner, set()).add(path)
        found = dict.fromkeys(owners.get(path, path) for path in self.chosen)
        return [
            Found(
                one.removeprefix(base).lstrip("/"),
                self._address(one),
                self._stamp(one.rpartition("/")[0], members.get(one, {one})),
            )
            for one in found
        ]

    def _list(self, listed: Iterable[Mapping[str, Any]]) -> list[str]:
        files = {one["name"]: one for one in self._without_links(listed) if one["type"] == "file"}
        if strange := [name for name in files if not _is_text(name)]:  # no table can hold them
            shown = printable(strange[0].rpartition("/")[2])
            self.notes.append(f"{_left_out(len(strange), 'file')}, because a name is not UTF-8: {shown}")
        files = {name: one for name, one in files.items() if name not in strange}
        self.listed |= files
        return list(files)

    def _without_links(self, listed: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """Yield what is listed; in place of a link to a file that file, under the link's name. The others are said."""
        left: dict[str, list[str]] = {"nothing": [], "folders": []}
        for one in listed:
            target = one
            if one.get("islink"):
                try:
                    target = self.files.info(one["name"])
                except OSError:
                    left["nothing"].append(one["name"])
                if target["type"] == "directory":
                    left["folders"].append(one["name"])
            yield target
        for what, links in left.items():
            if links:
                shown = printable(min(links).rpartition("/")[2])
                self.notes.append(f"{_left_out(len(links), 'link')}, to {what}: {shown}")

    def _address(self, path: str) -> str:
        return self.start + path

    def _owners(self) -> dict[str, str]:
        """Return the recording that a file belongs to: of WFDB without ``.hea``, of BIDS the table beside a JSON."""
        headers = [path for path in self.listed if path.endswith(".hea")]
        texts = self.files.cat(headers, on_error="omit") if headers else {}
        texts = texts if isinstance(texts, dict) else {headers[0]: texts}
        parts: dict[str, set[str]] = {}  # record -> records that are its segments
        owners: dict[str, str] = {}
        for header in headers:
            record = header.removesuffix(".hea")
            owners[header] = record
            for name in _named(texts.get(header, b"")):
                path = posixpath.normpath(posixpath.join(header.rpartition("/")[0], name))
                if path != record and f"{path}.hea" in self.listed and path not in self.listed:
                    parts.setdefault(record, set()).add(path)
                elif path in self.listed:
                    owners[path] = record
        records = {header.removesuffix(".hea") for header in headers}
        for path in self.listed:
            stem = path.rpartition(".")[0]
            if stem in records and path not in owners and not _TEXT.search(path):
                ending = _ending(path)
                if ending not in ENDINGS or ending == ".mat":
                    owners[path] = stem
        for path in self.listed:
            beside = bids_json(Path(path))
            if beside is not None and beside.as_posix() in self.listed:
                owners |= {path: path, beside.as_posix(): path}
        whole = {part: record for record, segments in parts.items() for part in segments}
        return {path: _top(record, whole) for path, record in owners.items()}

    def _stamp(self, folder: str, paths: Iterable[str]) -> str:
        """Return the hash of names, sizes and times or tags of files."""
        rows = []
        for path in sorted(paths):
            one = self.listed[path]
            when = next((one[key] for key in _STAMPS if one.get(key) is not None), "")
            rows.append(f"{path.removeprefix(folder)} {one.get('size')} {when}")
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def _is_text(name: str) -> bool:
    """Return False for a name whose bytes are no text in UTF-8."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _place(folder: str) -> str:
    """Return where a folder is, without links and dots on this machine, and without a slash at its end."""
    return (folder if is_address(folder) else str(Path(folder).expanduser().resolve())).rstrip("/")


def _named(header: bytes) -> list[str]:
    """Return the names of the files or segments in a WFDB header, its first line aside."""
    lines = header.decode("utf-8", errors="replace").splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return [row[0] for row in rows[1:] if row[0] != "~"]


def _top(record: str, whole: Mapping[str, str]) -> str:
    """Return the record that a segment is part of, or of which that is part, and so on."""
    seen = {record}
    while record in whole and whole[record] not in seen:
        record = whole[record]
        seen.add(record)
    return record


def _ending(path: str) -> str:
    return posixpath.splitext(path)[1].lower()


def _left_out(count: int, what: str) -> str:
    return f"1 {what} was left out" if count == 1 else f"{count:,} {what}s were left out"
