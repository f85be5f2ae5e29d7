"""Mutations of files: of any bytes, of model files behind their checksum, and of folders of shards.

All take a `random.Random`: a seeded one makes a case again.
"""

from __future__ import annotations

import json
import struct
from copy import deepcopy
from functools import lru_cache

import numpy as np
from safetensors.numpy import load

from structune.files.models import checksum, pack_strings, unpack_strings
from structune.kinds import kinds

_NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"007", b"127", b"32768", b"2147483648", b"9223372036854775807"),
    *(b"9223372036854775808", b"1" * 30, b"9" * 5000, b"1e308", b"-1e999", b"nan", b"inf", b"0x1f", b"1_0"),
    *(b"0.5", b".", b"+", b"-0.0", b"1e-999", "٣".encode()),
)
_TOKENS = (
    *(b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"),  # no UTF-8, and its mark
    *(b"\r\n", b"\r", b"\x0b", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\t", b" ", b"\n\n"),
    *(b">", b"#", b"//\n", b"(", b")", b"[", b"a", b"A" * 70_000, b":"),
    *(b"..", b",", b"=", b";", b"%00", b"NULL", b"\x1f\x8b", b"__import__('os').system('true')", b"{}" * 40),
)
_DEEP = "@deep@"  # json.dumps cannot write what is nested as deeply
_VALUES = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400),
    *(0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), -float("inf")),
    *("", "x", "a b", "é", "\0", "\ud800", "log", "margin", "0", "1e9"),
    *("os.system('true')", "__import__('os').system('true')", "../../etc/passwd", "%s%n", "a" * 5000),
    *([], {}, [0], [[]], [None], {"": None}, {"a": 1}, [1, "a"], _DEEP),
)
_ENDLESS = b"A", b"(", b"()", b"(A", b"x ", b"\t", b"\n", b"1:2 ", b">\n", b">a\nA\n", b",", b"a=b;", b"join("
_KEYS = (
    *("", "x", "a b", "__class__", "loss__x", "n_jobs", "loss", "gamma", "features", "log_precision", "band"),
)
_TYPES = {
    **{f"<f{size}": f"F{8 * size}" for size in (2, 4, 8)},
    **{
        f"{'|' if size == 1 else '<'}{kind}{size}": f"{kind.upper()}{8 * size}"
        for kind in "iu"
        for size in (1, 2, 4, 8)
    },
    "|b1": "BOOL",
}
_NUMERIC = (
    *(0, 1, -1, 2, 3, 5, 10, 255, 2**31, 2**53, 2**63 - 1, -(2**63), 1e-320, 1e308, -1e308),
    *(0.5, -2.5, 40.0, 700.0, float("nan"), float("inf"), -float("inf")),
)


# --- bytes ------------------------------------------------------------------------------------------------


def mutate_bytes(data, random):
    """One to four changes, most of them somewhere within lines."""
    for _ in range(random.randint(1, 4)):
        data = random.choice(_OF_BYTES)(data, random)
    return data


def _span(data, random, most=200):
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.randint(0, most))


def _flip(data, random):
    changed = bytearray(data)
    for _ in range(random.randint(1, 4) if data else 0):
        changed[random.randrange(len(data))] = random.randrange(256)
    return bytes(changed)


def _insert(data, random):
    at = random.randint(0, len(data))
    return data[:at] + random.choice(_TOKENS + _NUMBERS) + data[at:]


def _delete(data, random):
    a, b = _span(data, random)
    return data[:a] + data[b:]


def _splice(data, random):
    (a, b), at = _span(data, random), random.randint(0, len(data))
    return data[:at] + data[a:b] + data[at:]


def _truncate(data, random):
    return data[: random.randint(0, len(data))]


def _repeat(data, random):
    a, b = _span(data, random, 20)
    return data[:b] + data[a:b] * random.choice((1, 2, 100, 3000)) + data[b:]


def _endless(data, random):
    """A line, columns, brackets or records without end."""
    at, word = random.randint(0, len(data)), random.choice(_ENDLESS)
    return data[:at] + word * random.choice((1000, 30_000)) + data[at:]


def _number(data, random):
    """Another number in place of one that is there."""
    places = [k for k, byte in enumerate(data[:20_000]) if 48 <= byte < 58]
    if not places:
        return _insert(data, random)
    a = b = random.choice(places)
    while b < len(data) and 48 <= data[b] < 58:
        b += 1
    return data[:a] + random.choice(_NUMBERS) + data[b:]


def _lines(data, random):
    """A line that is taken away, comes twice, moves, or is joined to the next."""
    lines = data.split(b"\n")
    k, other, action = random.randrange(len(lines)), random.randrange(len(lines)), random.randrange(4)
    if action == 3:
        lines[k : k + 2] = [b" ".join(lines[k : k + 2])]
    else:
        _rearrange(lines, k, other, action)
    return b"\n".join(lines)


def _words(data, random):
    """A word that is taken away, doubled, or swapped with another."""
    words = data.split(b" ")
    k, other, action = random.randrange(len(words)), random.randrange(len(words)), random.randrange(3)
    _rearrange(words, k, other, action)
    return b" ".join(words)


def _rearrange(parts, k, other, action):
    if action == 0:
        del parts[k]
    elif action == 1:
        parts.insert(other, parts[k])
    else:
        parts[k], parts[other] = parts[other], parts[k]


def _ends(data, random):
    return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"", b"\n\n", b"\x85", b" ")))


_OF_BYTES = (
    *(_flip, _insert, _insert, _delete, _splice, _truncate, _repeat, _endless),
    *(_number, _number, _lines, _words, _ends),
)


# --- model files ------------------------------------------------------------------------------------------


def mutate_model(data, random):
    """A model file with another header or other arrays, and the checksum of these."""
    header, arrays = _parsed(data)
    header, arrays = json.loads(header), dict(arrays)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if random.random() < 0.5:
            header = _other_header(header, random)
        else:
            random.choice(_OF_ARRAYS)(arrays, random)
    return packed(json.dumps(header), arrays, random)


def mutate_container(data, random):
    """A model file whose safetensors header lies: of shapes, offsets, types, lengths."""
    (length,) = struct.unpack("<Q", data[:8])
    entries, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice(list(entries))
        if name == "__metadata__" or not isinstance(entries[name], dict) or random.random() < 0.1:
            entries = _other_header(entries, random)
            continue
        entry = entries[name] = dict(entries[name])
        part = random.choice(("shape", "data_offsets", "dtype"))
        entry[part] = _lie(part, entry.get(part), random)
    text = json.dumps(entries).replace(f'"{_DEEP}"', _nested(random)).encode()
    said = random.choice((len(text),) * 8 + (len(text) + 1, len(text) - 1, 0, 2**31, 2**63, 2**64 - 1))
    return struct.pack("<Q", said) + text + body


def parsed(data):
    """JSON header and arrays of a model file."""
    text, arrays = _parsed(data)
    return json.loads(text), dict(arrays)


def packed(text, arrays, random=None):
    """The file of a header and arrays; the same bytes for the same of these, unlike those of safetensors."""
    text = text.replace(f'"{_DEEP}"', _nested(random) if random else "")
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries, parts, at = {"__metadata__": {"structune": text, "sha256": checksum(text, arrays)}}, [], 0
    for name, array in arrays.items():
        parts.append(array.tobytes())
        spans = [at, at := at + len(parts[-1])]
        entries[name] = {"dtype": _TYPES[array.dtype.str], "shape": array.shape, "data_offsets": spans}
    head = json.dumps(entries).encode()
    return b"".join((struct.pack("<Q", len(head)), head, *parts))


@lru_cache(maxsize=64)
def _parsed(data):
    (length,) = struct.unpack("<Q", data[:8])
    arrays = dict(sorted(load(data).items()))  # safetensors has them in any order
    return json.loads(data[8 : 8 + length])["__metadata__"]["structune"], arrays


def _nested(random):
    depth = random.choice((10, 300, 900, 5000))
    return "[" * depth + "]" * depth


def _lie(part, value, random):
    if part == "dtype":
        return random.choice(("F64", "F32", "I64", "I32", "U8", "BOOL", "BF16", "F8_E4M3", "x", None))
    numbers = list(value) if isinstance(value, list) else [0]
    number = random.choice((0, 1, 8, 2**20, 2**31, 2**62, 2**63 - 1, 2**64, -1, 1.5, None, "1"))
    action = random.randrange(4)
    if action == 0 and numbers:
        numbers[random.randrange(len(numbers))] = number
    elif action == 1:
        numbers.insert(random.randint(0, len(numbers)), number)
    elif action == 2:
        del numbers[-1:]
    else:
        numbers = [0, number]
    return numbers


def _other_header(header, random):
    """The header with one of its parts replaced, at any depth."""
    if random.random() < 0.03:
        return {**header, "kind": random.choice(list(kinds()))}
    node = header
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            break
        key = random.choice(keys)
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner) or random.random() < 0.15:
            break
        node = inner
    action = random.randrange(8) if keys else 7
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node, list):
        node.append(deepcopy(node[key]))
    elif action <= 2 and isinstance(inner, int | float):
        node[key] = random.choice(
            (inner + 1, inner - 1, -inner, inner // 2, inner * 1000, str(inner), [inner])
        )
    elif action < 7:
        node[key] = _value(random)
    elif isinstance(node, dict):
        node[random.choice(_KEYS)] = _value(random)
    else:
        node.insert(random.randint(0, len(node)), _value(random))
    return header


def _value(random):
    """One of the header, which later changes may change too."""
    return deepcopy(random.choice(_VALUES))


def _some_values(arrays, random):
    name = random.choice(list(arrays))
    array = arrays[name].copy()
    flat, step = array.reshape(-1), array.dtype.type(1)
    for _ in range(random.choice((1, 1, 2, 5)) if flat.size else 0):
        at = random.choice((0, flat.size - 1, random.randrange(flat.size)))
        with np.errstate(all="ignore"):
            values = (
                *_NUMERIC,
                flat[at] + step,
                flat[at] ^ step if step.dtype == bool else flat[at] - step,
                flat.size,
            )
            flat[at] = np.array(random.choice(values)).astype(flat.dtype)
    arrays[name] = array


def _all_values(arrays, random):
    name = random.choice(list(arrays))
    with np.errstate(all="ignore"):
        arrays[name] = np.full(arrays[name].shape, random.choice(_NUMERIC)).astype(arrays[name].dtype)


def _shuffled(arrays, random):
    name = random.choice(list(arrays))
    flat = arrays[name].reshape(-1)
    if flat.size:
        a, b = random.randrange(flat.size), random.randrange(flat.size)
        order = np.arange(flat.size)
        order[[a, b]] = order[[b, a]]
        order = order if random.random() < 0.5 else order[::-1]
        arrays[name] = flat[order].reshape(arrays[name].shape)


def _other_type(arrays, random):
    name = random.choice(list(arrays))
    dtype = random.choice(list(_TYPES))
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(dtype) if random.random() < 0.5 else _as_bytes(arrays[name], dtype)


def _as_bytes(array, dtype):
    """The same bytes as numbers of another type."""
    data = array.tobytes()
    return np.frombuffer(data[: len(data) // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize], dtype)


def _other_shape(arrays, random):
    name = random.choice(list(arrays))
    array = arrays[name]
    n = random.randint(0, max(0, len(array) if array.ndim else 0))
    arrays[name] = random.choice(
        (
            lambda: array[None],
            lambda: array.reshape(-1),
            lambda: array.T,
            lambda: array.reshape(-1)[:0],
            lambda: array.reshape(-1)[:1].reshape(array.size and ()),
            lambda: array[: n - 1] if array.ndim else array,
            lambda: np.concatenate((array, array[:n])) if array.ndim else array,
            lambda: array.reshape(*array.shape, 1),
            lambda: np.zeros((0, 5)),
            lambda: np.zeros(3),
        )
    )()


def _other_names(arrays, random):
    """Missing, extra and swapped arrays."""
    name, other, action = random.choice(list(arrays)), random.choice(list(arrays)), random.randrange(3)
    if action == 0 and len(arrays) > 1:
        del arrays[name]
    elif action == 1:
        arrays[random.choice(("x", "", name + "x", "estimator." + name))] = arrays[name]
    else:
        arrays[name], arrays[other] = arrays[other], arrays[name]


def _packed_names(arrays, random):
    """Names that are packed well, but others, or more or fewer of them."""
    found = [name.removesuffix("_ends") for name in arrays if name.endswith("_ends")]
    what = random.choice(found) if found else ""
    if f"{what}_bytes" not in arrays:
        return
    try:
        names = unpack_strings(arrays[f"{what}_bytes"], arrays[f"{what}_ends"])
    except ValueError:  # of a mutation before
        return
    action = random.randrange(5) if names else 4
    k = random.randrange(len(names)) if names else 0
    if action == 0:
        del names[k]
    elif action == 1:
        names[k] = names[random.randrange(len(names))]
    elif action == 2:
        names[k] += random.choice(("x", "\0", "é", "=", " ", "\ud800"))
    elif action == 3:
        names.reverse()
    else:
        names += [f"new{k}" for k in range(random.choice((1, 100)))]
    strings = pack_strings(names)
    arrays[f"{what}_bytes"], arrays[f"{what}_ends"] = strings["bytes"], strings["ends"]


_OF_ARRAYS = (
    *(_some_values, _some_values, _some_values, _all_values, _shuffled, _other_type, _other_shape),
    *(_other_names, _packed_names, _packed_names),
)


# --- folders of shards ------------------------------------------------------------------------------------

_LIST, _SHARD, _MODEL = "shards.json", "shard-00000.bin", "structure.structune"


def pack_folder(files):
    """One file of those of a folder, by name."""
    head = json.dumps([[name, len(data)] for name, data in files.items()])
    return b"".join((head.encode(), b"\n", *files.values()))


def unpack_folder(data):
    """The files of a folder, as bytes by name."""
    head, _, body = data.partition(b"\n")
    files, at = {}, 0
    for name, size in json.loads(head):
        files[name] = body[at : at + size]
        at += size
    return files


def mutate_folder(data, random):
    """A folder of shards with other arrays, another list, another structure, or other bytes."""
    files = unpack_folder(data)
    action = random.randrange(20)
    if action < 14:
        _mutate_shard(files, random)
    elif action < 17:
        files[_LIST] = _other_list(files[_LIST], random)
    elif action < 18:
        files[_MODEL] = mutate_model(files[_MODEL], random)
    else:
        name = random.choice(list(files))
        files[name] = mutate_bytes(files[name], random)
    return pack_folder(files)


def _mutate_shard(files, random):
    """Other arrays in the first shard, which are listed as they are then."""
    header = json.loads(files[_LIST])
    content, arrays = files[_SHARD], {}
    for name, (dtype, shape, start) in header["shards"][0]["layout"]:
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(content[start : start + n_bytes], dtype).reshape(shape)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(_OF_ARRAYS)(arrays, random)
    content, layout = b"", []
    for name, array in arrays.items():
        content += b"\0" * (-len(content) % 64)
        layout.append([name, [array.dtype.str, array.shape, len(content)]])
        content += array.tobytes()
    header["shards"][0]["layout"] = layout
    files[_LIST], files[_SHARD] = json.dumps(header).encode(), content


def _other_list(data, random):
    header = json.loads(data)
    for _ in range(random.choice((1, 1, 2))):
        header = _other_header(header, random)
    return json.dumps(header).replace(f'"{_DEEP}"', _nested(random)).encode()
