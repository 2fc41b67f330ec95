package tapeline.fix;

import java.time.Instant;
import java.util.Arrays;

/** Configurations of an exchange. */
final class Market {
    static final String PASSWORD = "secret";

    private static final int DAY_S = 86_400;
    private static final int NOON_S = DAY_S / 2;

    /** A segment with one instrument; all others are in the usual one. */
    static final String OTHER = "OTHR";

    static final int OTHER_SEGMENT = 1000;

    /** Nobody is to hear its market data, which goes to ports that the system does not choose. */
    private static final String UNHEARD = "[market-data]\nline-a = \"127.0.0.1:9\"\nline-b = \"127.0.0.1:9\"\n";

    private Market() {}

    /** Open all day to these users, each of a firm of its own. */
    static String open(String... users) {
        return ofBooks(1, users);
    }

    /** The same with instruments from 1 to this, and one of another segment. */
    static String ofBooks(int count, String... users) {
        return day("open") + UNHEARD + instruments(count) + users(users);
    }

    private static String instruments(int count) {
        StringBuilder text = new StringBuilder(instrument(OTHER_SEGMENT, OTHER));
        for (int id = 1; id <= count; id++) {
            text.append(instrument(id, "SETS"));
        }
        return text.toString();
    }

    /** A day that has its noon now: numbers of sessions begin anew at its midnight. */
    private static String day(String sessions) {
        long offset_s = NOON_S - Instant.now().getEpochSecond() % DAY_S;
        return "[day]\nsessions = \"" + sessions + "\"\nutc-offset-s = " + offset_s + "\n";
    }

    private static String instrument(int id, String segment) {
        return """
                [[instrument]]
                id = %d
                name = "NAME-%d"
                tick = "0.05"
                previous-close = "100.00"
                segment = "%s"
                """.formatted(id, id, segment);
    }

    /**
     * A whole day that has its noon now: in its opening call since long, it begins trading, its closing call and its
     * end at so many seconds from now.
     */
    static String dayOf(int regular_s, int closingCall_s, int end_s, String... users) {
        return day("turns")
                + turn(0, "opening-call")
                + turn(NOON_S + regular_s, "regular")
                + turn(NOON_S + closingCall_s, "closing-call")
                + turn(NOON_S + end_s, "market-close")
                + UNHEARD
                + instruments(1)
                + users(users);
    }

    /** Open until seconds from now, then halted for two seconds, and open again. */
    static String halted(String... users) {
        return day("turns")
                + turn(0, "opening-call")
                + turn(1, "regular")
                + turn(NOON_S + 3, "halt")
                + turn(NOON_S + 5, "regular")
                + UNHEARD
                + instruments(1)
                + users(users);
    }

    /** Open all day, with prices at most two per cent from the close before; the call of a circuit breaker is short. */
    static String braked(String... users) {
        return day("open")
                + "breaker-call-s = 1\nbreaker-random-s = 0\n"
                + UNHEARD
                + instruments(1).replace("segment =", "static-tolerance-bp = 200\nsegment =")
                + users(users);
    }

    private static String turn(int at_s, String session) {
        return "[[day.turn]]\nat-s = " + at_s + "\nsession = \"" + session + "\"\n";
    }

    /** Somebody who gets copies of all reports of these firms, which are numbered as the users are. */
    static String copies(String name, int... firms) {
        return user(name, 1000) + "copies = " + Arrays.toString(firms) + "\n";
    }

    /** Somebody who settles the trades of these firms. */
    static String settles(String name, int... firms) {
        return user(name, 1000) + "settles = " + Arrays.toString(firms) + "\n";
    }

    private static String users(String... names) {
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < names.length; at++) {
            text.append(user(names[at], at + 1));
        }
        return text.toString();
    }

    private static String user(String name, int firm) {
        return """
                [[user]]
                name = "%s"
                password = "%s"
                firm = %d
                """.formatted(name, PASSWORD, firm);
    }
}
