"""The book on the page, with the exchange's demonstration behind it."""

import os
import unittest

from browser import Browser
from tapeline import Tapeline

SESSION = "document.querySelector('#book .session').textContent"
INDICATIVE = "document.querySelector('#book .auction:not([hidden]) .price')?.textContent"
LEVELS = "document.querySelectorAll('#book .levels tbody tr')"


def exchange():
    """The program of the exchange, which lies beside the other one."""
    return os.path.join(os.path.dirname(os.environ["TAPELINE"]), "tapeline-exchange")


def column(name):
    """The prices of a side, from the best on, as numbers."""
    return (f"[...document.querySelectorAll('#book .levels .{name}')].map(cell => cell.textContent)"
            ".filter(text => text !== '').map(Number)")


class BookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(os.environ.get("CHROMIUM", "chromium"))
        cls.addClassCleanup(cls.browser.close)

    def demo(self, *arguments):
        demo = Tapeline("demo", "--any-port", *arguments, program=exchange())
        self.addCleanup(demo.stop)
        page = self.browser.page()
        self.addCleanup(self.browser.leave, page)
        page.open(f"http://127.0.0.1:{demo.port('ws')}/?item=EXCHANGE/VOD.L&item=EXCHANGE/BP.L")
        page.until("!document.getElementById('book').hidden")
        return demo, page

    def test_a_day_begins_with_an_auction_and_goes_on_with_trades(self):
        _, page = self.demo()
        self.assertEqual(page.until(SESSION), "Opening call")
        self.assertRegex(page.until(INDICATIVE), r"^\d+\.\d\d$")
        page.until(f"{SESSION} === 'Regular trading'")
        self.assertIsNone(page.ask(INDICATIVE))
        page.until("document.querySelectorAll('#book .trades tbody tr').length >= 3")
        self.assertEqual(page.complaints, [])

    def test_the_book_is_that_of_the_chosen_item_and_best_prices_come_first(self):
        _, page = self.demo("--open")
        self.assertEqual(page.ask("document.querySelector('#book h2').textContent"), "Book of VOD.L")
        page.until(f"{column('bid-price')}.length >= 5 && {column('ask-price')}.length >= 5")
        bids, asks = page.ask(f"[{column('bid-price')}, {column('ask-price')}]")
        self.assertEqual(bids, sorted(bids, reverse=True))
        self.assertEqual(asks, sorted(asks))
        self.assertLess(bids[0], asks[0])
        page.until("document.querySelector('#board tbody tr').dataset.condition === 'ok'")
        page.press("ArrowDown")
        page.press("ArrowDown")
        page.until("document.querySelector('#book h2').textContent === 'Book of BP.L'")
        # Prices of another item altogether.
        page.until(f"{column('bid-price')}[0] > 300")
        self.assertEqual(page.complaints, [])

    def test_without_the_exchange_the_page_says_so(self):
        demo, page = self.demo("--open")
        page.until(f"{column('bid-price')}.length >= 5")
        demo.stop()
        page.until("document.getElementById('book').hidden")


if __name__ == "__main__":
    unittest.main()
