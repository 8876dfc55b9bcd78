"""Looks at a page of `--report` in a real browser: no errors, keys that zoom and move, nothing wider than the screen.

    python docs/check_report.py report.html [FOLDER FOR SCREENSHOTS]

Needs the package playwright and a Chromium of its own or of the system; without them it says so and ends well.
"""

import pathlib
import shutil
import sys

SIZES = {"wide": (1280, 900), "phone": (375, 800)}


def launched(playwright):
    """A browser: the one of the package, or else the one of the system."""
    system = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        return playwright.chromium.launch()
    except Exception:
        if not system:
            return None
        return playwright.chromium.launch(executable_path=system, args=["--no-sandbox"])


def view(page):
    return page.locator("#view").inner_text()


def check_keys(page):
    """Zooming and moving by keys changes what is seen, and 0 brings all back."""
    if page.locator("#charts").count() == 0:
        return
    page.locator("#charts").focus()
    seen = [view(page)]
    for key in ["+", "+", "ArrowRight", "-", "ArrowLeft", "0"]:
        page.keyboard.press(key)
        seen.append(view(page))
    assert len(set(seen[:6])) >= 5, seen
    assert seen[0] == seen[6] and seen[0].startswith("All of"), seen


def check_pointer(page):
    """What is under the pointer is told, and dragging moves what was zoomed."""
    chart = page.locator("#charts canvas").first
    if chart.count() == 0:
        return
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 40
    page.mouse.move(x, y)
    page.mouse.dblclick(x, y)
    before = view(page)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=4)
    page.mouse.up()
    assert view(page) != before, before
    page.mouse.move(2, 2)
    page.keyboard.press("0")


def check(browser, report, size, theme, folder):
    """Everything, at one size and in one theme."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page = context.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto(report.resolve().as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"wider than {width}"
    check_keys(page)
    check_pointer(page)
    assert not errors, errors
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    if folder:
        page.wait_for_timeout(100)
        page.screenshot(path=folder / f"{size}-{theme}.png", full_page=True)
    context.close()


def main(report, folder=None):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return print("skipped: the package playwright is not installed")
    folder = pathlib.Path(folder) if folder else None
    with sync_playwright() as playwright:
        browser = launched(playwright)
        if browser is None:
            return print("skipped: there is no Chromium")
        for size in SIZES:
            for theme in ("light", "dark"):
                check(browser, pathlib.Path(report), size, theme, folder)
        browser.close()
    print(f"{report}: {pathlib.Path(report).stat().st_size / 1e3:.0f} kB, good at {len(SIZES)} sizes in both themes")


if __name__ == "__main__":
    main(*sys.argv[1:3])
