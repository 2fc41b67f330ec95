package tapeline.cluster;

import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/** Answers an order with a report that has its number, and does nothing else. */
final class Echo implements ClusteredService {
    private final UnsafeBuffer report = new UnsafeBuffer(new byte[Turns.REPORT_BYTES]);
    private IdleStrategy idle;

    @Override
    public void onStart(Cluster cluster, Image snapshot) {
        idle = cluster.idleStrategy();
    }

    @Override
    public void onSessionMessage(
            ClientSession session, long timestamp, DirectBuffer buffer, int offset, int length, Header header) {
        report.putLong(0, buffer.getLong(offset));
        idle.reset();
        // A follower's session takes whatever it is given. One that is closed takes nothing: the client is gone.
        while (session.offer(report, 0, Turns.REPORT_BYTES) < 0 && !session.isClosing()) {
            idle.idle();
        }
    }

    @Override
    public void onSessionOpen(ClientSession session, long timestamp) {}

    @Override
    public void onSessionClose(ClientSession session, long timestamp, CloseReason closeReason) {}

    @Override
    public void onTimerEvent(long correlationId, long timestamp) {}

    @Override
    public void onTakeSnapshot(ExclusivePublication snapshotPublication) {}

    @Override
    public void onRoleChange(Cluster.Role newRole) {}

    @Override
    public void onTerminate(Cluster cluster) {}
}
