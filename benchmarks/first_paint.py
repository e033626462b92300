#!/usr/bin/env python3
"""How long report pages take to their first paint in Chromium, in turns with an empty page.

Usage: benchmarks/first_paint.py PAGE.html ...        a table to stdout
Medians of 15 rounds, in ms since the navigation, and beside an empty page. The bar: 500 ms at 10,000 ranges on an idle machine
(the page huge.html that unit_tests makes: STRATA_TEST_PAGES=FOLDER unit_tests --source-file='*/unit/html_test.cpp').
"""
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "page"))
from chromium import FIRST_PAINT, Browser, find_browser  # noqa: E402

ROUNDS = 15
EMPTY = '<!doctype html><title>empty</title><p id="data">empty</p>'


def main():
    pages = [pathlib.Path(name) for name in sys.argv[1:]]
    if not pages:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        empty = pathlib.Path(folder) / "empty.html"
        empty.write_text(EMPTY)
        found = {page: [] for page in [empty, *pages]}
        browser = Browser(find_browser(), f"{folder}/profile")
        browser.start()
        try:
            for _ in range(ROUNDS):
                for page, times in found.items():
                    browser.open(page, 1400, False)
                    times.append(browser.run(FIRST_PAINT))
        finally:
            browser.end()
    beside = statistics.median(found[empty])
    print("| page | first paint, ms | slowest, ms | beside an empty page |\n|---|---|---|---|")
    for page, times in found.items():
        middle = statistics.median(times)
        print(f"| {page.name} | {middle:.0f} | {max(times):.0f} | {middle / beside:.1f} |")


main()
