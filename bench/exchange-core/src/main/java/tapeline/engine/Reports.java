package tapeline.engine;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;

/** What came of the messages of a flow: kind, sequence number, and up to four values of each. */
final class Reports {
    static final int ACCEPTED = 0;
    static final int TRADED = 1;
    static final int CANCELLED = 2;
    static final int MODIFIED = 3;
    static final int CANCEL_REJECTED = 4;
    static final int MODIFY_REJECTED = 5;

    private static final int WIDTH = 6;
    /** Of each kind, how many values behind kind and sequence number are said. */
    private static final int[] VALUES = {4, 4, 3, 4, 1, 1};

    private final long[] all;
    private int count;

    Reports(int most) {
        all = new long[most * WIDTH];
    }

    void add(int kind, long sequence, long first, long second, long third, long fourth) {
        int at = count * WIDTH;
        all[at] = kind;
        all[at + 1] = sequence;
        all[at + 2] = first;
        all[at + 3] = second;
        all[at + 4] = third;
        all[at + 5] = fourth;
        count++;
    }

    int count() {
        return count;
    }

    /** SHA-256 of the lines, by sequence number and kind. */
    String hash() {
        Integer[] order = new Integer[count];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, Comparator.<Integer>comparingLong(i -> all[i * WIDTH + 1])
                .thenComparingLong(i -> all[i * WIDTH]));
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            StringBuilder line = new StringBuilder();
            for (int n = 0; n < count; n++) {
                int at = order[n] * WIDTH;
                line.setLength(0);
                line.append(n == 0 ? "" : "\n").append(all[at]).append(',').append(all[at + 1]);
                for (int value = 0; value < VALUES[(int) all[at]]; value++) {
                    line.append(',').append(all[at + 2 + value]);
                }
                digest.update(line.toString().getBytes(StandardCharsets.US_ASCII));
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
