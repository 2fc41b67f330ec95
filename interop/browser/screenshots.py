"""Pictures of the page for the documents, in light and in dark."""

import os
import sys

from browser import Browser
from tapeline import Market

ITEMS = ["TAPE1.X", "TAPE2.X", "TAPE3.X", "TAPE4.X", "XXA%3D", "XXB%3D", "XXC%3D", "NOTHING.X"]
WIDTH, HEIGHT = 1280, 800

# How long the figures run before the picture is taken, so that their lines are there.
SECONDS = 45


def main(folder):
    browser = Browser(os.environ.get("CHROMIUM", "chromium"))
    try:
        market = Market("--stamp-on", "TAPE1.X", "--stamp-rate", "5", rate=40)
        try:
            pages = {scheme: open_page(browser, market, scheme) for scheme in ("light", "dark")}
            for scheme, page in pages.items():
                page.call("Page.bringToFront")
                page.until(f"window.seconds >= {SECONDS}")
                page.screenshot(os.path.join(folder, f"page-{scheme}.png"), WIDTH, HEIGHT)
            for scheme in ("light", "dark"):
                admin = open_admin(browser, market, scheme)
                admin.screenshot(os.path.join(folder, f"admin-{scheme}.png"), WIDTH, HEIGHT)
        finally:
            market.stop()
    finally:
        browser.close()


def open_page(browser, market, scheme):
    page = browser.page(WIDTH, HEIGHT)
    page.prefer(prefers_color_scheme=scheme)
    page.open(market.url + "?" + "&".join(f"item=SAMPLE/{name}" for name in ITEMS))
    page.ask("window.seconds = 0; setInterval(() => { window.seconds += 1 }, 1000)")
    return page


def open_admin(browser, market, scheme):
    page = browser.page(WIDTH, HEIGHT)
    page.prefer(prefers_color_scheme=scheme)
    page.open(market.admin)
    page.until(f"document.querySelector('.plot')?.points.length >= {SECONDS}")
    return page


if __name__ == "__main__":
    main(sys.argv[1])
