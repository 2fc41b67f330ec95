package tapeline.peers;

/**
 * What to publish.
 *
 * @param rate updates a second
 * @param start when the first is due, in nanoseconds of the monotonic clock
 * @param end when to stop
 * @param first the number of the first
 */
record Order(long rate, long start, long end, long first) {
    /** From {@code run RATE START END FIRST}. */
    static Order parse(String line) {
        String[] words = line.trim().split(" ");
        if (words.length != 5 || !words[0].equals("run")) {
            throw new IllegalArgumentException("no order: " + line);
        }
        return new Order(
                Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]));
    }

    /** When an update is due; a product of a run's numbers fits into 63 bits for some hours. */
    long due(long sent) {
        return start + sent / rate * 1_000_000_000L + sent % rate * 1_000_000_000L / rate;
    }
}
