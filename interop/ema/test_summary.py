"""What counts as a failure inside the vendor's code, and what comes of a repetition."""

import unittest

import summary

RACE = """java.lang.NullPointerException: Cannot load from object array
\tat com.refinitiv.eta.codec.RmtesDecoderImpl.decode(RmtesDecoderImpl.java:10)
\tat tapeline.ema.JsonDisplayTest.enumerationsAreFoundByTheirDisplay(JsonDisplayTest.java:30)
"""


class VendorFault(unittest.TestCase):
    def test_a_fault_inside_the_vendors_code_is_named(self):
        self.assertEqual(
            summary.vendor_fault(RACE),
            "java.lang.NullPointerException at com.refinitiv.eta.codec.RmtesDecoderImpl.decode"
            "(RmtesDecoderImpl.java:10)",
        )
        wrapped = "java.lang.RuntimeException: x\n\tat a.B.c(B.java:1)\nCaused by: " + RACE
        self.assertEqual(summary.vendor_fault(wrapped), summary.vendor_fault(RACE))

    def test_nothing_else_is_excused(self):
        for why in (
            "",
            "org.opentest4j.AssertionFailedError: expected\n\tat com.refinitiv.x.Y.z(Y.java:1)",
            "com.refinitiv.ema.access.OmmInvalidUsageExceptionImpl: login refused\n\tat com.refinitiv.x.Y.z(Y.java:1)",
            "java.lang.NullPointerException: ours\n\tat tapeline.ema.Decode.of(Decode.java:1)\n" + RACE,
            "java.lang.NullPointerException: in the library\n\tat java.base/java.util.Objects.x(O.java:1)",
        ):
            self.assertIsNone(summary.vendor_fault(why), why)

    def test_one_that_ended_a_thread_of_the_sdk_is_found_in_what_was_printed(self):
        printed = "INFO: connected\nException in thread \"pool-4-thread-1\" " + RACE
        self.assertEqual(summary.fault_beside(printed), summary.vendor_fault(RACE))
        self.assertIsNone(summary.fault_beside("INFO: java.lang.NullPointerException\n\tat tapeline.ema.A.b(A.java:1)"))

    def test_the_second_outcome_counts_and_the_first_is_told(self):
        first = [("A", "b", "failed", RACE), ("A", "c", "passed", "")]
        why = {("A", "b"): "a fault"}
        for outcome in ("passed", "failed"):
            cases, lines = summary.repeated(first, [("A", "b", outcome, "")], why)
            self.assertEqual(cases, [("A", "b", outcome, ""), first[1]])
            self.assertEqual(len(lines), 1)
            self.assertTrue(lines[0].startswith("REPEATED A#b, which failed inside"), lines)
            self.assertTrue(lines[0].endswith(outcome), lines)
        self.assertEqual(summary.repeated(first, [], {}), (first, []))


if __name__ == "__main__":
    unittest.main()
