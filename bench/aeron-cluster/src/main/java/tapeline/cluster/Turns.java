package tapeline.cluster;

import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.Header;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A cluster and a client of it. A line of the standard input is a number of orders, which are sent one at a time;
 * the answer is a line with the nanoseconds that each took until its report was there.
 */
public final class Turns implements EgressListener {
    static final int ORDER_BYTES = 125;
    static final int REPORT_BYTES = 155;

    /** Before the first turn, so that what is measured is compiled. */
    private static final int WARM_UP = 10_000;
    /** Before each turn: the members were stopped until then. */
    private static final int WAKE_UP = 100;
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(30);

    private final UnsafeBuffer order = new UnsafeBuffer(new byte[ORDER_BYTES]);
    private final IdleStrategy idle;
    private final AeronCluster cluster;
    private long sent;
    private long reported;

    private Turns(Members members, Idle idle, String driver) {
        this.idle = idle.strategy();
        cluster = AeronCluster.connect(new AeronCluster.Context()
                .aeronDirectoryName(driver)
                .egressListener(this)
                .egressChannel("aeron:udp?endpoint=127.0.0.1:0")
                .ingressChannel("aeron:udp?term-length=64k")
                .ingressEndpoints(members.ingress())
                .idleStrategy(idle.strategy())
                .messageTimeoutNs(PATIENCE_NS));
    }

    public static void main(String[] arguments) {
        // Neither the client's nor the driver's threads are to keep the process when this one fails.
        int status = 0;
        try {
            run(arguments[0]);
        } catch (Exception failed) {
            failed.printStackTrace();
            status = 1;
        }
        System.exit(status);
    }

    private static void run(String name) throws Exception {
        Members members = Members.start(name);
        Idle idle = Idle.of(name);
        MediaDriver.Context context = Member.driver(members.folder().resolve("client").toString(), idle);
        String driver = MediaDriver.launch(context).aeronDirectoryName();
        Turns turns = new Turns(members, idle, driver);
        turns.orders(WARM_UP);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            turns.orders(WAKE_UP);
            StringBuilder answer = new StringBuilder();
            for (long nanoseconds : turns.orders(Integer.parseInt(line))) {
                answer.append(nanoseconds).append(' ');
            }
            System.out.println(answer);
        }
    }

    private long[] orders(int count) {
        long[] times = new long[count];
        for (int i = 0; i < count; i++) {
            times[i] = roundTrip();
        }
        return times;
    }

    private long roundTrip() {
        long start = System.nanoTime();
        order.putLong(0, ++sent);
        idle.reset();
        while (cluster.offer(order, 0, ORDER_BYTES) < 0) {
            waitSince(start);
        }
        while (reported != sent) {
            if (cluster.pollEgress() == 0) {
                waitSince(start);
            } else {
                idle.reset();
            }
        }
        return System.nanoTime() - start;
    }

    private void waitSince(long start) {
        if (System.nanoTime() - start > PATIENCE_NS) {
            throw new IllegalStateException("no report came for order " + sent);
        }
        idle.idle();
    }

    @Override
    public void onMessage(
            long session, long timestamp, DirectBuffer buffer, int offset, int length, Header header) {
        if (length != REPORT_BYTES) {
            throw new IllegalStateException("a report of " + length + " bytes");
        }
        reported = buffer.getLong(offset);
    }
}
