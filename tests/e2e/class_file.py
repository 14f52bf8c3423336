"""Renames what a class file talks of: names that the JVM takes (JVMS 4.2.2) and javac does not."""

import struct

# Bytes behind the tag, of all constants but texts (JVMS 4.4).
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
UTF8, LONG, DOUBLE = 1, 5, 6


def _text(data):
    """Modified UTF-8, of texts without NULs and characters beyond the basic plane."""
    return data.decode("utf-8", errors="surrogatepass")


def renamed(data, names):
    """The class file with every constant text that is a key of `names` replaced."""
    magic, _, _, count = struct.unpack_from(">IHHH", data)
    assert magic == 0xCAFEBABE
    out = bytearray(data[:10])
    at, index = 10, 1
    while index < count:
        tag = data[at]
        if tag == UTF8:
            length = struct.unpack_from(">H", data, at + 1)[0]
            text = data[at + 3:at + 3 + length]
            if _text(text) in names:
                text = names[_text(text)].encode()
            out += struct.pack(">BH", UTF8, len(text)) + text
            at += 3 + length
        else:
            out += data[at:at + 1 + SIZES[tag]]
            at += 1 + SIZES[tag]
        index += 2 if tag in (LONG, DOUBLE) else 1
    return bytes(out) + data[at:]


def rename_in(directory, main, names):
    """All class files of a program; the class `main` itself may be among the names."""
    for path in list(directory.glob("*.class")):
        data = renamed(path.read_bytes(), names)
        if path.stem in names:
            path.unlink()
            path = directory / f"{names[path.stem]}.class"
        path.write_bytes(data)
    return names.get(main, main)
