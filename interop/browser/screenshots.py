"""Pictures of the page for the documents, in light and in dark."""

import os
import sys

from browser import Browser
from tapeline import Market, Tapeline
from test_book import exchange

ITEMS = ["TAPE1.X", "TAPE2.X", "TAPE3.X", "TAPE4.X", "XXA%3D", "XXB%3D", "XXC%3D", "NOTHING.X"]
WIDTH, HEIGHT = 1280, 800

# How long the figures run before the picture is taken, so that their lines are there.
SECONDS = 45

# The light one is of a call, the dark one of regular trading.
SESSION_OPENS = ("document.querySelectorAll('#book .levels .bid:not(:empty)').length >= 8"
                 " && !document.querySelector('#book .auction').hidden")
TRADES = "document.querySelectorAll('#book .trades tbody tr').length >= 12"


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
        demo = Tapeline("demo", "--any-port", program=exchange())
        try:
            books = {scheme: open_book(browser, demo, scheme) for scheme in ("light", "dark")}
            for scheme, when in (("light", SESSION_OPENS), ("dark", TRADES)):
                page = books[scheme]
                page.call("Page.bringToFront")
                page.until(when)
                page.screenshot(os.path.join(folder, f"book-{scheme}.png"), WIDTH, 1000)
        finally:
            demo.stop()
    finally:
        browser.close()


def open_book(browser, demo, scheme):
    page = browser.page(WIDTH, 1000)
    page.prefer(prefers_color_scheme=scheme)
    names = ("VOD.L", "BP.L", "HSBA.L")
    page.open(f"http://127.0.0.1:{demo.port('ws')}/?" + "&".join(f"item=EXCHANGE/{name}" for name in names))
    return page


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
