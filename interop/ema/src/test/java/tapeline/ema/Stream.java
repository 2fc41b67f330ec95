package tapeline.ema;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;

/** One open handle of an EMA consumer and all that its callbacks brought. */
final class Stream implements OmmConsumerClient {
    final Inbox<Event> events;
    volatile long handle;

    Stream(String name) {
        events = new Inbox<>(name);
    }

    /** The first complete refresh. */
    Event image() {
        return events.await("an image", Event::isImage);
    }

    /** The first complete refresh at or after a position. */
    Event imageFrom(int mark) {
        return events.awaitFrom(mark, "an image", Event::isImage);
    }

    Event updateFrom(int mark) {
        return events.awaitFrom(mark, "an update", Event::isUpdate);
    }

    Event stale(int mark) {
        return events.awaitFrom(mark, "OPEN/SUSPECT", e -> e.says(StreamState.OPEN, DataState.SUSPECT));
    }

    Event fresh(int mark) {
        return events.awaitFrom(
                mark, "an image OPEN/OK", e -> e.isImage() && e.says(StreamState.OPEN, DataState.OK));
    }

    Event closed() {
        return events.await(
                "the end of the stream", e -> e.state() != null && e.state().stream() == StreamState.CLOSED);
    }

    @Override
    public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
        events.add(Event.of(msg));
    }

    @Override
    public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
        events.add(Event.of(msg));
    }

    @Override
    public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
        events.add(Event.of(msg));
    }

    @Override
    public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {
        events.add(Event.of(msg));
    }

    @Override
    public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {
        events.add(Event.of(msg));
    }

    @Override
    public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
}
