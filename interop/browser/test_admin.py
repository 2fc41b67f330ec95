"""The operator's page of the admin port in a real browser, by keyboard alone."""

import os
import unittest
import urllib.error
import urllib.request

from browser import Browser
from tapeline import Market
from test_page import POOR_CONTRAST

ITEMS = [f"TAPE{number}.X" for number in range(1, 6)]

VIEW = "document.querySelector('#tabs [aria-current]')?.textContent"
CELLS = "[...document.querySelectorAll('#rows tbody tr.chosen td')].map(cell => cell.textContent)"
HEADS = "[...document.querySelectorAll('#rows th button')].map(head => head.textContent)"


class AdminPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(os.environ.get("CHROMIUM", "chromium"))
        cls.addClassCleanup(cls.browser.close)
        cls.market = Market(rate=100)
        cls.addClassCleanup(cls.market.stop)
        # A consumer whose mount is looked at: the page of the WebSocket port.
        cls.consumer = cls.browser.page()
        items = "&".join(f"item=SAMPLE/{name}" for name in ITEMS)
        cls.consumer.open(f"{cls.market.url}?user=desk&{items}")
        cls.consumer.until("document.querySelectorAll('#board tbody tr').length >= 5")

    def setUp(self):
        self.page = self.browser.page()
        self.addCleanup(self.browser.leave, self.page)
        self.page.open(self.market.admin)
        self.page.until("document.querySelector('#health').textContent === 'ready'")

    def chosen(self, column):
        return (f"({CELLS})[({HEADS}).findIndex(head => head.startsWith({column!r}))]")

    def test_every_view_is_there_by_its_number(self):
        for number, name in enumerate(
                ["services", "sources", "mounts", "users", "items", "servers", "peers", "hops"], 1):
            self.page.type(str(number))
            self.page.until(f"{VIEW} === '{number} {name}'")
            self.page.until("document.querySelectorAll('#rows tbody tr').length > 0")

    def test_a_mount_is_found_by_its_user_and_opened_and_left_by_keyboard(self):
        self.page.type("3")
        self.page.until(f"{self.chosen('loginName')} === 'desk'")
        self.assertEqual(self.page.ask(self.chosen("protocol")), "JSON")
        self.assertEqual(self.page.ask(self.chosen("items")), "5")
        self.page.press("Enter")
        self.page.until("!document.querySelector('#detail').hidden")
        self.page.press("Escape")
        self.page.until("document.querySelector('#detail').hidden")

    def test_a_mount_leads_to_its_items_and_back_by_keyboard(self):
        self.page.type("3")
        self.page.until(f"{self.chosen('loginName')} === 'desk'")
        self.page.press("Enter")
        self.page.until("!document.querySelector('#detail').hidden")
        self.page.press("Enter")
        self.page.until(f"{VIEW} === '5 items'")
        self.page.until("document.querySelector('#note').textContent.startsWith('5 rows of mount')")
        self.page.press("Escape")
        self.page.until(f"{VIEW} === '3 mounts'")
        self.page.until(f"{self.chosen('loginName')} === 'desk'")

    def test_a_service_leads_to_its_items_and_sources_by_mouse(self):
        for name, shown, rows in (("items", "5 items", 5), ("sources", "2 sources", 1)):
            self.page.type("1")
            self.page.until(f"{self.chosen('name')} === 'SAMPLE'")
            self.page.ask("document.querySelector('#rows tbody tr.chosen').click()")
            button = (f"[...document.querySelectorAll('#detail .acts button')]"
                      f".find(it => it.textContent === 'Show its {name}')")
            self.page.until(f"!!{button}")
            self.page.ask(f"{button}.click()")
            self.page.until(f"{VIEW} === '{shown}'")
            self.page.until(f"document.querySelectorAll('#rows tbody tr').length === {rows}")
            self.assertEqual(self.page.ask("document.querySelector('#filter').value"), "SAMPLE")
            self.page.press("Escape")
            self.page.until(f"{VIEW} === '1 services'")

    def test_a_user_leads_to_the_mounts(self):
        self.page.type("4")
        self.page.until(f"{self.chosen('loginName')} === 'desk'")
        self.page.press("Enter")
        self.page.until("!document.querySelector('#detail').hidden")
        self.page.press("Enter")
        self.page.until(f"{VIEW} === '3 mounts'")
        self.page.until(f"{self.chosen('loginName')} === 'desk'")

    def test_a_filter_leaves_what_has_the_text(self):
        self.page.type("5")
        self.page.until("document.querySelectorAll('#rows tbody tr').length === 5")
        self.page.type("/")
        self.page.type("TAPE3")
        self.page.until("document.querySelectorAll('#rows tbody tr').length === 1")
        self.assertEqual(self.page.ask(self.chosen("name")), "TAPE3.X")

    def test_rates_are_drawn(self):
        self.page.until("document.querySelectorAll('.plot path').length === 5")
        self.page.until("!document.querySelector('.plot b').textContent.startsWith('0 ')")

    def test_events_say_who_logged_in(self):
        self.page.until("document.querySelector('#events ol').textContent.includes('a user has logged in')")

    def test_every_text_can_be_read_in_light_and_in_dark(self):
        for scheme in ("light", "dark"):
            self.page.prefer(prefers_color_scheme=scheme)
            self.page.until("document.querySelectorAll('#rows tbody tr').length > 0")
            self.assertEqual(self.page.ask(POOR_CONTRAST), [], scheme)

    def test_pages_of_others_are_refused(self):
        request = urllib.request.Request(
            self.market.admin + "v1/mounts", headers={"Origin": "https://evil.example.com"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()


if __name__ == "__main__":
    unittest.main()
