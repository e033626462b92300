#!/usr/bin/env python3
"""Makes the pictures of README.md and docs/ from the recordings of examples/report, with Chromium.

    python3 page/pictures.py STRATA             writes them; STRATA is the built command, build/quick/tools/strata
    python3 page/pictures.py STRATA --check     says which are not what the recordings and the page make; exit status 1

A picture carries what it shows as text: its words and size are compared, never its pixels, which differ between machines.
"""
import base64
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

here = pathlib.Path(__file__).resolve().parent
root = here.parent
sys.path.insert(0, str(here))
from chromium import Browser, find_browser  # noqa: E402

# Of each picture: the recording, the width of the window, the sections of the page that it shows.
PICTURES = {
    "docs/report.png": ("gpt2-fused", 1200, ("headline", "findings", "roofline")),
}
KEY = b"Strata"  # of the text in a picture
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunks_of(png):
    """The kinds and bytes of the parts of a PNG."""
    at = len(SIGNATURE)
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + size]
        at += size + 12


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_text(png, text):
    """The picture with a text within, before its pixels."""
    made = SIGNATURE
    for kind, content in chunks_of(png):
        made += chunk(kind, content)
        if kind == b"IHDR":
            made += chunk(b"zTXt", KEY + b"\0\0" + zlib.compress(text.encode("ascii"), 9))
    return made


def text_of(png):
    """The size of a picture and the text within; "" where there is none."""
    size, text = (0, 0), ""
    for kind, content in chunks_of(png):
        if kind == b"IHDR":
            size = struct.unpack(">II", content[:8])
        if kind == b"zTXt" and content.startswith(KEY + b"\0"):
            text = zlib.decompress(content[len(KEY) + 2:]).decode("ascii")
    return list(size), text


def words_of(browser, sections):
    """What stands in the sections and in their figures."""
    return browser.run(f"""{json.dumps(sections)}.map(id => [id, ...document.getElementById(id).innerText.split('\\n').map(t => t.trim()).filter(Boolean),
        ...[...document.querySelectorAll('#' + id + ' svg text')].map(t => t.textContent)])""")


def show(browser, page, width, sections):
    """Opens the page with these sections alone; returns what the picture says, without the picture."""
    browser.open(page, width, False)
    browser.run(f"""document.querySelectorAll('main > section, nav, header button, footer').forEach(e => {{ e.hidden = !{json.dumps(sections)}.includes(e.id);
        if (e.hidden) e.style.display = 'none'; }})""")
    browser.settle()
    height = browser.run("Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)")
    return {"size": [width, height], "words": words_of(browser, sections)}


def picture_of(browser, width, height):
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    return base64.b64decode(browser.call("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})["data"])


def report_of(strata, recording, folder):
    out = pathlib.Path(folder) / recording
    subprocess.run([strata, "report", root / f"examples/report/{recording}.strata", "--formats", "html", "--out", out], check=True, capture_output=True)
    return out / "report.html"


def difference(path, wanted):
    """What a picture has other than it should; "" where it is right."""
    if not path.is_file():
        return "is missing"
    size, text = text_of(path.read_bytes())
    said = json.loads(text or "{}")
    if size != said.get("size"):
        return f"has {size[0]} x {size[1]} pixels, its text says {said.get('size')}"
    if said["words"] != wanted["words"]:
        shown, made = ([word for section in each["words"] for word in section] for each in (said, wanted))
        return f"shows {[word for word in shown if word not in made][:5]}, the page has {[word for word in made if word not in shown][:5]}"
    return "" if size[0] == wanted["size"][0] else f"is {size[0]} pixels wide, not {wanted['size'][0]}"


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    program = find_browser()
    if program is None:
        print("SKIPPED: there is no Chromium: apt-get install chromium, or name one in STRATA_TEST_BROWSER")
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, folder + "/chromium")
        browser.start()
        try:
            for name, (recording, width, sections) in PICTURES.items():
                wanted = show(browser, report_of(arguments[0], recording, folder), width, sections)
                if arguments[1:]:
                    what = difference(root / name, wanted)
                    if what:
                        print(f"FAILED: {name} {what}: python3 page/pictures.py STRATA makes it anew")
                        wrong += 1
                else:
                    (root / name).write_bytes(with_text(picture_of(browser, *wanted["size"]), json.dumps(wanted)))
        finally:
            browser.end()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
