"""The page of the WebSocket port in a real browser, by keyboard alone."""

import json
import os
import unittest

from browser import Browser
from tapeline import Market

# What the page shows, as expressions.
PHASE = "document.getElementById('connection').dataset.phase"
FOCUSED = "(at => at.name || at.id || at.tagName.toLowerCase())(document.activeElement)"
VALUE = "document.querySelector('#board tbody .value span')"


def row(item):
    """The row of an item on the board."""
    return (f"[...document.querySelectorAll('#board tbody tr')]"
            f".find(row => row.querySelector('.item').textContent === {item!r})")


def condition(item):
    return f"{row(item)}?.dataset.condition"


def note(item):
    return f"{row(item)}?.querySelector('.note').textContent"


def cell(item, head):
    """What is on the board for an item under a head."""
    heads = "[...document.querySelectorAll('#board thead tr > *')]"
    column = f"{heads}.findIndex(head => head.textContent === {head!r})"
    return f"{row(item)}?.cells[{column}]?.textContent"


def field(name):
    """The value of a field of the chosen item."""
    return (f"[...document.querySelectorAll('#fields tbody tr')]"
            f".find(row => row.querySelector('.field').textContent === {name!r})"
            f"?.querySelector('.value').textContent")


# Every visible text whose contrast with what is behind it is below 4.5, as WCAG
# 2.2 asks for.
POOR_CONTRAST = """
(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const ground = (element) => {
        for (let at = element; at !== null; at = at.parentElement) {
            const colour = rgba(getComputedStyle(at).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return rgba("Canvas");
    };
    const luminance = (colour) => {
        const [r, g, b] = colour.slice(0, 3).map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const poor = [];
    let seen = 0;
    for (const element of document.querySelectorAll("body *")) {
        const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
        const text = texts.map((node) => node.textContent.trim()).join("");
        if (text === "" || !element.checkVisibility() || element.closest(".unseen, noscript")) continue;
        for (const animation of element.getAnimations()) animation.finish();
        const [a, b] = [rgba(getComputedStyle(element).color), ground(element)].map(luminance);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        seen += 1;
        if (contrast < 4.5) poor.push(`${contrast.toFixed(2)} ${element.tagName} ${text}`);
    }
    return seen < 20 ? [`only ${seen} texts`] : poor;
})()
"""


class PageTest(unittest.TestCase):
    source_arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(os.environ.get("CHROMIUM", "chromium"))
        cls.addClassCleanup(cls.browser.close)
        cls.market = Market(*cls.source_arguments)
        cls.addClassCleanup(cls.market.stop)

    def setUp(self):
        self.page = self.browser.page()
        self.addCleanup(self.browser.leave, self.page)

    def open(self, query=""):
        self.page.open(self.market.url + query)
        self.page.until(f"{PHASE} === 'up'")

    def ask_for(self, names):
        """Types names where the focus is; that is the input at the start."""
        self.page.until("document.querySelector('[name=service]').value !== ''")
        self.page.type(names)
        self.page.press("Enter")

    def await_condition(self, name, wanted):
        self.page.until(f"{condition(name)} === {wanted!r}")

    def await_change(self, expression):
        """Waits until something is shown, and then something else."""
        first = self.page.until(expression)
        self.page.until(f"(shown => shown && shown !== {first!r})({expression})")

    def assert_no_complaints(self):
        self.assertEqual(self.page.complaints, [])


class WatchingTest(PageTest):
    def test_items_that_are_typed_show_their_fields_and_tick(self):
        self.open()
        self.assertEqual(self.page.ask(FOCUSED), "items")
        self.ask_for("TAPE1.X, XXA=")
        for name in ("TAPE1.X", "XXA="):
            self.await_condition(name, "ok")
            self.await_change(cell(name, "BID"))
        # The first of them is the chosen one, with all its fields.
        self.assertEqual(self.page.ask("document.querySelector('#fields h2').textContent"), "TAPE1.X")
        self.assertEqual(self.page.until(field("DSPLY_NAME")), "TAPELINE ONE")
        self.await_change(field("BID"))
        # Prices keep the digits that they are written with, the zero at the end as well.
        self.page.until(f"/^\\d+\\.\\d0$/.test({field('BID')})")
        self.assertRegex(self.page.ask(field("BID")), r"^\d+\.\d\d$")
        self.page.until("Number(document.querySelector('[data-gauge=rate] .figure').textContent) > 10")
        self.assert_no_complaints()

    def test_changed_values_flash_and_say_which_way(self):
        self.open("?item=SAMPLE/TAPE1.X")
        for way in ("up", "down"):
            flashes = f"value?.getAnimations().length === 1 && value.dataset.move === {way!r}"
            self.page.until(f"(value => {flashes})({VALUE})")

    def test_without_motion_nothing_flashes(self):
        self.page.prefer(prefers_reduced_motion="reduce")
        self.open("?item=SAMPLE/TAPE1.X")
        self.await_change(f"{VALUE}?.textContent")
        self.await_change(f"{VALUE}?.textContent")
        self.assertEqual(self.page.ask("document.getAnimations().length"), 0)

    def test_a_refused_item_says_why(self):
        self.open()
        self.ask_for("NOTHING.X")
        self.await_condition("NOTHING.X", "closed")
        self.assertTrue(self.page.ask(note("NOTHING.X")).startswith("NotFound"))
        self.page.until("document.getElementById('said').textContent.startsWith('NOTHING.X closed')")
        state = "document.querySelector('#fields .state').textContent"
        self.assertEqual(self.page.ask(state), "Closed / Suspect")
        # The others are not hurt, and asking again is allowed.
        self.ask_for("TAPE2.X")
        self.await_condition("TAPE2.X", "ok")
        self.ask_for("NOTHING.X")
        self.await_condition("NOTHING.X", "closed")
        self.assert_no_complaints()

    def test_an_item_of_a_service_that_is_not_there_heals_with_it(self):
        self.open("?service=SAMPLE&item=NOWHERE/TAPE1.X")
        self.page.until(f"['stale', 'closed'].includes({condition('TAPE1.X')})")
        self.assertNotEqual(self.page.ask(note("TAPE1.X")), "")
        other = self.market.source_of("--service", "NOWHERE", "--service-id", "7")
        self.addCleanup(other.stop)
        self.await_condition("TAPE1.X", "ok")
        options = "[...document.querySelector('[name=service]').options].map(option => option.value).sort()"
        self.page.until(f"({options}).join() === 'NOWHERE,SAMPLE'")

    def test_names_of_peers_are_text_and_nothing_else(self):
        self.open()
        self.ask_for("<img/src=x/onerror=alert(1)>")
        self.page.until("document.querySelectorAll('#board tbody tr').length === 1")
        name = "document.querySelector('#board .item')"
        self.assertEqual(self.page.ask(f"{name}.textContent"), "<img/src=x/onerror=alert(1)>")
        self.assertEqual(self.page.ask(f"{name}.childElementCount"), 0)
        self.assert_no_complaints()

    def test_the_policy_forbids_scripts_from_elsewhere_and_inside(self):
        self.open()
        self.page.ask("""new Promise(done => {
            addEventListener('securitypolicyviolation', done, { once: true });
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.head.append(script);
        }).then(() => true)""")
        self.assertIsNone(self.page.ask("window.ran"))

    def test_the_address_is_a_bookmark_of_the_list(self):
        self.open()
        self.ask_for("TAPE1.X TAPE2.X")
        self.await_condition("TAPE2.X", "ok")
        query = self.page.ask("location.search")
        self.assertEqual(query, "?service=SAMPLE&item=SAMPLE%2FTAPE1.X&item=SAMPLE%2FTAPE2.X")
        self.open(query)
        for name in ("TAPE1.X", "TAPE2.X"):
            self.await_condition(name, "ok")

    def test_while_it_is_held_nothing_moves(self):
        self.open("?item=SAMPLE/TAPE1.X")
        bid, updates = cell("TAPE1.X", "BID"), cell("TAPE1.X", "Updates")
        self.await_change(bid)
        self.page.ask("document.getElementById('hold').focus()")
        self.page.press(" ")
        self.page.until("document.getElementById('hold').getAttribute('aria-pressed') === 'true'")
        seen = self.page.ask(f"[{bid}, {updates}]")
        # Two seconds of the figures, which go on: 400 updates.
        self.await_change("document.querySelector('[data-gauge=traffic] .figure').textContent")
        self.await_change("document.querySelector('[data-gauge=traffic] .figure').textContent")
        self.assertEqual(self.page.ask(f"[{bid}, {updates}]"), seen)
        self.page.press(" ")
        self.await_change(bid)


    def test_an_item_that_is_closed_and_asked_for_again_while_it_is_held_is_one_row(self):
        self.open("?item=SAMPLE/TAPE1.X")
        self.await_change(cell("TAPE1.X", "BID"))
        hold = "document.getElementById('hold').click()"
        self.page.ask(hold)
        # Two seconds of the figures: there are changes that are not drawn.
        self.await_change("document.querySelector('[data-gauge=traffic] .figure').textContent")
        self.await_change("document.querySelector('[data-gauge=traffic] .figure').textContent")
        self.page.press("ArrowDown")
        self.page.press("Delete")
        self.ask_for("TAPE1.X")
        self.page.ask(hold)
        self.await_condition("TAPE1.X", "ok")
        self.assertEqual(self.page.ask("document.querySelectorAll('#board tbody tr').length"), 1)

    def test_a_token_of_another_application_among_the_cookies_does_no_harm(self):
        self.page.call("Network.setCookie", name="AuthToken", value="none.of.ours", url=self.market.url)
        self.open("?item=SAMPLE/TAPE1.X")
        self.await_change(cell("TAPE1.X", "BID"))
        self.assertEqual(self.page.ask(PHASE), "up")


class KeyboardTest(PageTest):
    def test_rows_are_walked_closed_and_left(self):
        self.open()
        self.ask_for("TAPE1.X TAPE2.X TAPE3.X")
        self.await_condition("TAPE3.X", "ok")
        chosen = "document.activeElement.querySelector?.('.item')?.textContent"
        shown = "document.querySelector('#fields h2').textContent"
        for key, name in [("ArrowDown", "TAPE1.X"), ("ArrowDown", "TAPE2.X"), ("End", "TAPE3.X"),
                          ("ArrowDown", "TAPE3.X"), ("Home", "TAPE1.X"), ("ArrowUp", "TAPE1.X"),
                          ("End", "TAPE3.X"), ("ArrowUp", "TAPE2.X")]:
            self.page.press(key)
            self.assertEqual(self.page.ask(f"[{chosen}, {shown}]"), [name, name], key)
        self.page.press("Delete")
        self.assertEqual(self.page.ask(chosen), "TAPE3.X")
        self.assertEqual(self.page.ask("document.querySelectorAll('#board tbody tr').length"), 2)
        self.page.press("Escape")
        self.assertEqual(self.page.ask(FOCUSED), "items")
        self.page.press("ArrowDown")
        self.page.press("Delete")
        self.page.press("Delete")
        self.assertEqual(self.page.ask(FOCUSED), "items")
        self.assertFalse(self.page.ask("document.getElementById('empty').hidden"))
        self.assertTrue(self.page.ask("document.getElementById('fields').hidden"))
        self.assert_no_complaints()

    def test_tab_reaches_everything_and_goes_round(self):
        self.open("?item=SAMPLE/TAPE1.X&item=SAMPLE/TAPE2.X")
        self.page.until(field("BID"))
        for key in ("ArrowDown", "ArrowDown", "Escape"):
            self.page.press(key)
        stops = []
        while len(stops) < 40 and "body" not in stops:
            self.page.press("Tab")
            stops.append(self.page.ask(
                "document.activeElement.getAttribute('aria-label') || " + FOCUSED))
        # From the input on: one row of the board is a stop, whichever is the chosen one.
        expected = [
            "button", "user", "hold", "tr", "Show fields whose name contains", "DSPLY_NAME as a column"]
        self.assertEqual(stops[:6], expected)
        self.assertEqual(stops.count("tr"), 1)

    def test_a_field_becomes_a_column_and_stops_to_be_one(self):
        self.open("?item=SAMPLE/TAPE1.X")
        self.page.until(field("DSPLY_NAME"))
        heads = "[...document.querySelectorAll('#board thead .value')].map(head => head.textContent)"
        before = self.page.ask(heads)
        self.assertEqual(before, ["BID", "ASK", "TRDPRC_1", "BIDSIZE", "ASKSIZE"])
        pin = "document.querySelector('[aria-label=\"DSPLY_NAME as a column\"]')"
        self.page.ask(f"{pin}.focus()")
        self.page.press("Enter")
        self.assertEqual(self.page.ask(heads), [*before, "DSPLY_NAME"])
        self.assertEqual(self.page.ask(f"{pin}.getAttribute('aria-pressed')"), "true")
        self.assertIn("field=DSPLY_NAME", self.page.ask("location.search"))
        self.page.until(f"({cell('TAPE1.X', 'DSPLY_NAME')}) === 'TAPELINE ONE'")
        self.page.press("Enter")
        self.assertEqual(self.page.ask(heads), before)

    def test_fields_are_found_by_a_part_of_their_name(self):
        self.open("?item=SAMPLE/TAPE1.X")
        self.page.until(field("BID"))
        self.page.ask("document.querySelector('[type=search]').focus()")
        self.page.type("size")
        shown = ("[...document.querySelectorAll('#fields tbody tr')].filter(row => !row.hidden)"
                 ".map(row => row.querySelector('.field').textContent).sort()")
        self.assertEqual(self.page.ask(shown), ["ASKSIZE", "BIDSIZE"])


class LooksTest(PageTest):
    def test_every_text_is_legible_in_light_and_in_dark(self):
        grounds = []
        for scheme in ("light", "dark"):
            self.page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            self.open("?item=SAMPLE/TAPE1.X&item=SAMPLE/NOTHING.X&item=NOWHERE/A")
            self.await_condition("TAPE1.X", "ok")
            self.await_condition("NOTHING.X", "closed")
            self.assertEqual(self.page.ask(POOR_CONTRAST), [], scheme)
            grounds.append(self.page.ask("getComputedStyle(document.body).backgroundColor"))
        self.assertNotEqual(*grounds)
        self.assert_no_complaints()

    def test_whatever_takes_the_focus_has_a_name(self):
        self.open("?item=SAMPLE/TAPE1.X")
        self.page.until(field("BID"))
        self.page.call("Accessibility.enable")
        nodes = self.page.call("Accessibility.getFullAXTree")["nodes"]
        controls = {"button", "combobox", "textbox", "searchbox", "row", "grid"}
        names = {}
        for node in nodes:
            role = node.get("role", {}).get("value")
            if role in controls and not node.get("ignored"):
                names.setdefault(role, []).append(node.get("name", {}).get("value", ""))
        self.assertIn("Items", names["textbox"])
        self.assertIn("Service", names["combobox"])
        for role in controls - {"row"}:
            self.assertTrue(names.get(role), role)
            self.assertNotIn("", names[role], role)

    def test_a_narrow_window_scrolls_down_and_not_to_the_side(self):
        self.page.call("Emulation.setDeviceMetricsOverride", width=360, height=740,
                       deviceScaleFactor=1, mobile=False)
        self.open("?item=SAMPLE/TAPE1.X")
        self.page.until(field("BID"))
        self.assertLessEqual(self.page.ask("document.documentElement.scrollWidth"), 360)


class StampsTest(PageTest):
    source_arguments = ("--stamp-on", "TAPE1.X", "--stamp-rate", "10")

    def test_the_latency_says_by_what_it_is_measured(self):
        self.open()
        note = "document.querySelector('[data-gauge=latency] .note').textContent"
        figure = "document.querySelector('[data-gauge=latency] .figure').textContent"
        self.page.until(f"{figure} !== '–' && {note}.startsWith('round trip of a ping')")
        self.ask_for("TAPE1.X")
        self.page.until(f"{note}.startsWith('one way, by TIM_TRK_1')")
        self.assertGreater(float(self.page.ask(figure)), 0)


# In the place of the browser's own sockets: what the page sends is kept, its
# login is granted, and all else is said by the test.
SPOKEN_FOR = """
window.sent = [];
window.WebSocket = class {
    static OPEN = 1;
    readyState = 1;
    constructor() {
        window.say = (...messages) => this.onmessage({ data: JSON.stringify(messages) });
        setTimeout(() => this.onopen());
    }
    send(text) {
        const messages = [JSON.parse(text)].flat();
        window.sent.push(...messages);
        const granted = {
            ID: 1, Type: "Refresh", Domain: "Login", State: { Stream: "Open", Data: "Ok" },
            Elements: { PingTimeout: 86400 },
        };
        if (messages[0].Domain === "Login") setTimeout(() => this.onmessage({ data: JSON.stringify(granted) }));
    }
    close() {}
};
"""


def image(stream, **fields):
    return {"ID": stream, "Type": "Refresh", "State": {"Stream": "Open", "Data": "Ok"}, "Fields": fields}


def status(stream, state, text="", **more):
    return {"ID": stream, "Type": "Status", "State": {"Stream": state, "Data": "Suspect", "Text": text}, **more}


def directory(*names):
    entries = [{"Action": "Add", "Key": number, "FilterList": {"Entries": [
        {"ID": 1, "Action": "Set", "Elements": {"Name": name}}]}} for number, name in enumerate(names)]
    return {"ID": 2, "Type": "Refresh", "Domain": "Source", "Map": {"KeyType": "UInt", "Entries": entries}}


class SaidTest(PageTest):
    """What a server says seldom, or at the wrong time: the test says it in its place."""

    def setUp(self):
        super().setUp()
        self.page.call("Page.addScriptToEvaluateOnNewDocument", source=SPOKEN_FOR)

    def say(self, *messages):
        self.page.ask(f"say(...{json.dumps(messages)})")

    def requests_for(self, name):
        return self.page.ask(f"sent.filter(message => message.Key?.Name === {name!r}).map(message => message.ID)")

    def end_login(self):
        self.say(status(1, "Closed", "it is over", Domain="Login"))
        self.page.until(f"{PHASE} === 'refused'")

    def try_now(self):
        self.page.ask("document.getElementById('retry').click()")
        self.page.until(f"{PHASE} === 'up'")

    def test_after_the_end_of_a_login_nothing_is_ok_and_it_can_be_tried_again(self):
        self.open("?item=A/ONE")
        self.say(image(3, BID=1))
        self.await_condition("ONE", "ok")
        self.end_login()
        self.await_condition("ONE", "stale")
        self.assertEqual(self.page.ask("document.getElementById('trouble').textContent"), "it is over")
        self.assertFalse(self.page.ask("document.getElementById('retry').hidden"))
        self.try_now()
        self.assertTrue(self.page.ask("document.getElementById('retry').hidden"))
        self.say(image(3, BID=2))
        self.await_condition("ONE", "ok")

    def test_as_another_user_nothing_is_ok_before_it_is_answered(self):
        self.open("?item=A/ONE")
        self.say(image(3, BID=1))
        self.await_condition("ONE", "ok")
        self.page.ask("(user => { user.value = 'other'; user.dispatchEvent(new Event('change')); })"
                      "(document.querySelector('[name=user]'))")
        self.await_condition("ONE", "stale")
        self.page.until(f"{PHASE} === 'up'")
        self.say(image(3, BID=2))
        self.await_condition("ONE", "ok")

    def test_an_item_that_is_closed_ends_no_other_that_has_its_number_now(self):
        self.open("?item=A/ONE&item=A/TWO")
        self.say(status(3, "Closed"), image(4, BID=1))
        self.await_condition("TWO", "ok")
        self.end_login()
        self.try_now()
        self.assertEqual(self.requests_for("TWO"), [4, 3])
        self.say(image(3, BID=2))
        self.page.press("ArrowDown")
        self.page.press("Delete")
        self.page.until(f"!{row('ONE')}")
        self.say({"ID": 3, "Type": "Update", "Fields": {"BID": 3}})
        self.page.until(f"({cell('TWO', 'BID')}) === '3'")
        self.assertEqual(self.page.ask("sent.filter(message => message.Type === 'Close')"), [])

    def test_what_waits_for_its_answer_is_not_asked_for_again(self):
        self.open("?item=A/ONE&item=A/TWO")
        self.say(status(3, "ClosedRecover"))
        self.await_condition("ONE", "closed")
        self.end_login()
        self.try_now()
        asked = self.requests_for("ONE")
        self.say(status(4, "ClosedRecover"))
        self.page.until("sent.filter(message => message.Key?.Name === 'TWO').length === 3")
        self.assertEqual(self.requests_for("ONE"), asked)
        self.page.type("ONE")
        self.say(directory("A"))
        self.page.press("Enter")
        self.await_condition("ONE", "asking")
        self.assertEqual(self.requests_for("ONE"), asked)

    def test_the_chosen_service_is_back_with_the_service(self):
        self.open()
        service = "document.querySelector('[name=service]')"
        self.say(directory("A", "B"))
        self.assertEqual(self.page.ask(f"{service}.value"), "A")
        self.page.ask(f"{service}.value = 'B', {service}.dispatchEvent(new Event('change')), true")
        self.say(directory("A"))
        self.assertEqual(self.page.ask(f"{service}.value"), "A")
        self.assertEqual(self.page.ask("location.search"), "?service=B")
        self.say(directory("A", "B"))
        self.assertEqual(self.page.ask(f"{service}.value"), "B")

    def test_a_field_that_an_image_has_no_more_leaves_the_board(self):
        self.open("?item=A/ONE")
        self.say(image(3, BID=1, ASK=2))
        self.page.until(f"({cell('ONE', 'ASK')}) === '2'")
        self.say(image(3, BID=3))
        self.page.until(f"({cell('ONE', 'BID')}) === '3'")
        self.assertEqual(self.page.ask(cell("ONE", "ASK")), "")

    def test_a_login_that_the_server_makes_of_cookies_is_not_the_page_s(self):
        self.open("?item=A/ONE")
        self.say({**image(-1), "Domain": "Login"}, status(-1, "Closed", Domain="Login"))
        self.say(image(3, BID=1))
        self.await_condition("ONE", "ok")
        self.assertEqual(self.page.ask(PHASE), "up")
        self.assertEqual(self.page.ask("sent.filter(message => message.Domain === 'Login').length"), 1)


class RecoveryTest(PageTest):
    def test_it_comes_back_with_the_server_and_with_the_source(self):
        self.open()
        self.ask_for("TAPE1.X TAPE2.X")
        self.await_condition("TAPE2.X", "ok")

        def without_server():
            # All at one time: between two pauses there is an attempt, which shows none of it.
            self.page.until(f"{PHASE} === 'lost' && document.getElementById('trouble').textContent !== ''"
                            " && document.getElementById('countdown').textContent.startsWith('next try in')"
                            " && !document.getElementById('retry').hidden")
            for name in ("TAPE1.X", "TAPE2.X"):
                self.await_condition(name, "stale")

        self.market.restart_node(without_server)
        self.page.until(f"{PHASE} === 'up'")
        for name in ("TAPE1.X", "TAPE2.X"):
            self.await_condition(name, "ok")
            self.await_change(cell(name, "BID"))

        self.market.source.stop()
        self.await_condition("TAPE1.X", "stale")
        self.assertEqual(self.page.ask(PHASE), "up")
        self.market.start_source()
        self.await_condition("TAPE1.X", "ok")
        self.await_change(cell("TAPE1.X", "BID"))


if __name__ == "__main__":
    unittest.main()
