"""Random problems with hostile names, written to files in hostile but lawful ways, and faults put into such files.

What a file means is known before it is written: nothing here reads a table, a link or a label back through konstrain.
"""

import copy
import io
import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

PIECES = (
    *("anna", "x", "Z9", "007", "1e5", "0", "1", "a,b", "must", "random_state", "n_clusters=2"),
    *("NA", "nan", "None", "ML", "CL", "[1]", "{a}", "<b>", "# ", "  ", "--", "\r\n"),
    *("ü", "é", "名", "😀", "\u2028", "\u00a0", "\n", "\t"),
    *("#", "#", ",", ";", "'", '"', " ", "$", "\\", "-", "%", "*", "?", "~", "|", "&", "=", ":", "/", "."),
)
# Words that may be a header of a file of links: a file that begins with them is refused, which is right.
HEADERS = {"a", "b", "i", "j", "first", "second", "id_a", "id_b", "row_a", "row_b", "from", "to"}
FILES = ["data", "data[1]", "st*r", "wh?", "{a,b}", "~", "a b", "ü", "$HOME", "x=1", "-k", "#1", "new\nline", "%s"]
NO_GROUP = ["", '""', " ", "NA", "nan", "-1", '"NA"', "null"]


def names(rng, count, *, column=False):
    """Draw names that differ, also without the blanks around them and in lower case."""
    found: dict[str, str] = {}
    while len(found) < count:
        name = "".join(rng.choice(PIECES, rng.integers(1, 4)))
        name = name.strip() if column else name
        plain = name.strip().lower()
        if plain and plain not in HEADERS and not (column and _is_number_somehow(name)):
            found.setdefault(plain, name)
    return list(found.values())


def clusters(rng):
    """Draw names of three groups; none that is read as no group, or as a fraction, which no label is."""
    drawn = names(rng, 40)
    return [name for name in drawn if name not in NO_GROUP and name != "None" and not _is_number_somehow(name)][:3]


def _is_number_somehow(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass
class Truth:
    """A problem as it is, before any file is written."""

    X: np.ndarray
    ids: list[str]
    features: list[str]
    k: int
    groups: list[str | None]
    demand: np.ndarray
    classes: list[str]
    must: list[tuple[int, int]]
    cannot: list[tuple[int, int]]
    columns: dict[str, str] = field(default_factory=dict)

    @classmethod
    def draw(cls, rng):
        n, d = int(rng.integers(6, 24)), int(rng.integers(1, 4))
        titles = names(rng, d + 5, column=True)
        teams = [*clusters(rng), None, None, None]
        pairs = rng.permuted(np.tile(np.arange(n), (8, 1)), axis=1)[:, :2].tolist()
        n_must, n_cannot = rng.integers(0, 4, 2)
        columns = dict(zip(("id", "group", "demand", "label", "note"), titles[d:], strict=True))
        return cls(
            np.round(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 6), 6),
            names(rng, n),
            titles[:d],
            int(rng.integers(1, 5)),
            [teams[i] for i in rng.integers(0, 6, n)],
            rng.integers(1, 5, n).astype(float),
            list(rng.choice(clusters(rng), n)),
            [tuple(pair) for pair in pairs[:n_must]],
            [tuple(pair) for pair in pairs[4 : 4 + n_cannot]],
            columns,
        )

    def frame(self):
        """All columns, typed."""
        c = self.columns
        return pl.DataFrame(
            {
                c["note"]: [f"{name} {i}" for i, name in enumerate(self.ids)],
                c["id"]: self.ids,
                **{name: self.X[:, j] for j, name in enumerate(self.features)},
                c["group"]: pl.Series(self.groups, dtype=pl.String),
                c["demand"]: self.demand,
                c["label"]: self.classes,
            }
        )


def quoted(rng, text, delimiter, *, always=False):
    """A field of a CSV file that is read as this text."""
    needs = any(letter in text for letter in f'"\r\n{delimiter}') or always
    return '"' + text.replace('"', '""') + '"' if needs or rng.random() < 0.2 else text


def write_table(rng, truth, folder, fault=None):
    """Write the table in some format; returns its name and whether it can hold text."""
    stem = str(rng.choice(FILES))
    kind = str(rng.choice(["csv", "csv", "csv", "tsv", "txt", "parquet", "arrow", "stream", "feather"]))
    frame = truth.frame()
    if fault is not None:
        kind = str(rng.choice(FAULTS[fault][0])) if FAULTS[fault][0] else kind
    ending = "arrow" if kind == "stream" else kind
    path = folder / f"{stem}.{ending}"
    for decoy in ("data1", "star", "why", "a", "b"):
        frame.head(3).write_csv(folder / f"{decoy}.csv")
    if kind in ("csv", "tsv", "txt"):
        data = as_csv(rng, truth, frame, None if fault is None else FAULTS[fault][1])
    else:
        buffer = io.BytesIO()
        write = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "feather": frame.write_ipc}
        write.get(kind, frame.write_ipc_stream)(buffer)
        data = buffer.getvalue()
        if fault == "cut":
            data = data[: int(rng.integers(1, len(data) - 1))]
    if fault == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(data)
    return f"./{path.name}"


def as_csv(rng, truth, frame, spoil=None):
    """The frame as CSV in some dialect."""
    delimiter = str(rng.choice([",", ";", "\t"]))
    end = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
    # Each number as Python writes it, or with blanks, a plus or in quotes.
    forms = ["{}", "{}", "{}", " {}", "{} ", '"{}"']
    lines = [[quoted(rng, name, delimiter, always=True) for name in frame.columns]]
    for row in frame.iter_rows():
        cells = []
        for value in row:
            if value is None:
                cells.append(str(rng.choice(NO_GROUP)))
            elif isinstance(value, float):
                cells.append(str(rng.choice(forms)).format(repr(value)))
            else:
                cells.append(quoted(rng, value, delimiter))
        lines.append(cells)
    if spoil is not None:
        spoil(rng, truth, lines, frame.columns)
    text = end.join(delimiter.join(line) for line in lines) + str(rng.choice([end, ""]))
    if rng.random() < 0.2:
        text += end
    encoding = "utf-8-sig" if rng.random() < 0.2 else "utf-8"
    if spoil is _utf16:
        # Without the mark that would tell it.
        encoding = "utf-16-le"
    if spoil is _latin1:
        return text.encode("utf-8").replace(b"note", b"note") + b"\xe9" + end.encode()
    return text.encode(encoding)


def write_links(rng, rows, truth, folder):
    """Write the links in some form; returns the options that name the files."""
    forms = {"must": truth.must, "cannot": truth.cannot}
    if rng.random() < 0.5 and (truth.must or truth.cannot):
        delimiter = str(rng.choice([",", ";", "\t"]))
        lines = [(a, b, kind) for kind, pairs in forms.items() for a, b in pairs]
        text = "".join(
            delimiter.join([link_name(rng, rows[a], delimiter), link_name(rng, rows[b], delimiter), kind]) + "\n"
            for a, b, kind in lines
        )
        header = delimiter.join(["a", "b", "answer"]) + "\n" if rng.random() < 0.5 else ""
        (folder / "links#1.csv").write_bytes((header + text).encode())
        return ["--links=links#1.csv"]
    options = []
    for kind, pairs in forms.items():
        if pairs:
            delimiter = str(rng.choice([",", ";", "\t"]))
            text = "".join(
                f"{link_name(rng, rows[a], delimiter)}{delimiter}{link_name(rng, rows[b], delimiter)}\n"
                for a, b in pairs
            )
            (folder / f"{kind}[1].csv").write_bytes(text.encode())
            options.append(f"--{kind}-link={kind}[1].csv")
    return options


def link_name(rng, name, delimiter):
    """A name in a file of links: quoted where it might be split, or be taken for a comment or a kind."""
    special = any(letter in name for letter in ' ,;\t"\r\n') or name.startswith("#") or name != name.strip()
    return quoted(rng, name, delimiter, always=special or rng.random() < 0.3)


def _place(rng, lines, columns, name):
    return lines[int(rng.integers(1, len(lines)))], columns.index(name)


def _long(rng, truth, lines, columns):
    lines[int(rng.integers(1, len(lines)))].append("7")


def _short(rng, truth, lines, columns):
    lines[int(rng.integers(1, len(lines)))].pop()


def _word(rng, truth, lines, columns):
    line, at = _place(rng, lines, columns, truth.features[0])
    line[at] = str(rng.choice(["one", "1_000", "1 2", "0x10", "--1", "1.2.3", "$5"]))


def _empty(rng, truth, lines, columns):
    line, at = _place(rng, lines, columns, truth.features[0])
    line[at] = str(rng.choice(["", '""', " "]))


def _infinite(rng, truth, lines, columns):
    line, at = _place(rng, lines, columns, truth.features[0])
    line[at] = str(rng.choice(["inf", "nan", "-Infinity", "1e999"]))


def _same_id(rng, truth, lines, columns):
    at = columns.index(truth.columns["id"])
    lines[-1][at] = lines[1][at]


def _no_id(rng, truth, lines, columns):
    line, at = _place(rng, lines, columns, truth.columns["id"])
    line[at] = str(rng.choice(["", '""', " "]))


def _open_quote(rng, truth, lines, columns):
    lines[-1][0] = '"open'


def _same_column(rng, truth, lines, columns):
    lines[0][0] = lines[0][1]


def _utf16(rng, truth, lines, columns):
    """Nothing: the encoding is the fault."""


def _latin1(rng, truth, lines, columns):
    """Nothing: a last line is the fault."""


# What a fault may be in: kinds of files (none: any), and what is done to the lines of a CSV file.
FAULTS = {
    "long": (["csv"], _long),
    "short": (["csv"], _short),
    "word": (["csv"], _word),
    "empty": (["csv"], _empty),
    "infinite": (["csv"], _infinite),
    "same id": (["csv"], _same_id),
    "no id": (["csv"], _no_id),
    "open quote": (["csv"], _open_quote),
    "same column": (["csv"], _same_column),
    "utf-16": (["csv"], _utf16),
    "latin-1": (["csv"], _latin1),
    "cut": (["parquet", "arrow", "feather"], None),
    "pipe": (["csv", "parquet"], None),
    "unknown row": ([], None),
    "unknown column": ([], None),
    "unwritable": ([], None),
    "read-only": ([], None),
    "no such file": ([], None),
}


def as_option(name):
    """A name of a column in a list of such."""
    return '"' + name.replace('"', '""') + '"'


def snapshot(folder: Path):
    """All files with their contents, but for pipes."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


# What stands where it does not belong: of another type, empty, huge, negative, no number.
WRONG = (None, True, 0, -1, -2.5, 10**400, float("nan"), float("inf"), "", "x", [], [1], [[[]]], {}, {"x": 1})


def _paths(values, path=()):
    """Yield where each value stands in nested lists and dictionaries."""
    inner = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from _paths(value, (*path, key))


def tampered(rng, values):
    """Return a copy of nested lists and dictionaries in which one value is missing or wrong, and what was done."""
    paths = list(_paths(values))
    *path, key = paths[rng.integers(len(paths))]
    edited = copy.deepcopy(values)
    parent = edited
    for step in path:
        parent = parent[step]
    if rng.random() < 0.25:
        del parent[key]
        return edited, f"without {(*path, key)}"
    parent[key] = WRONG[rng.integers(len(WRONG))]
    return edited, f"{(*path, key)} = {parent[key]!r:.20}"


ARRAYS = {
    "not a number": lambda array: array * np.nan,
    "infinite": lambda array: array + np.inf,
    "huge": lambda array: np.full(array.shape, 1e308),
    "negative": lambda array: -array - 1,
    "empty": lambda array: array[:0],
    "longer": lambda array: np.concatenate([array, array[-1:]]),
    "shorter": lambda array: array[:-1],
    "narrower": lambda array: array[..., :-1],
    "flat": lambda array: array.ravel(),
    "deeper": lambda array: array[..., None],
    "text": lambda array: array.astype(str),
    "whole": lambda array: array.astype(np.int8),
    "complex": lambda array: array.astype(complex),
    "half": lambda array: array.astype(np.float16),
}


def tampered_archive(rng, data):
    """Return the bytes of a .skops file with one thing changed in its records, its arrays or its bytes, and what."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in files if name.endswith(".npy")]
    how = rng.choice(["records", "array", "file", "cut", "bytes"], p=[0.4, 0.4, 0.1, 0.05, 0.05])
    if how == "cut":
        return data[: rng.integers(len(data))], how
    if how == "bytes":
        place = rng.integers(len(data))
        return data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :], f"byte {place}"
    if how == "records":
        records, how = tampered(rng, json.loads(files["schema.json"]))
        files["schema.json"] = json.dumps(records).encode()
    elif how == "file":
        name = rng.choice(list(files))
        files[name] = files[name][: rng.integers(len(files[name]))]
        how = f"{name} cut"
    else:
        name, how = rng.choice(arrays), rng.choice(list(ARRAYS))
        array = np.load(io.BytesIO(files[name]), allow_pickle=True)
        written = io.BytesIO()
        if array.ndim and array.dtype != object:
            np.save(written, ARRAYS[how](array) if array.dtype.kind in "fiub" else array[:-1])
        files[name], how = written.getvalue(), f"{name} {how}"
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return written.getvalue(), how
