package tapeline.ema;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;

/** One message as a consumer's callback got it. Absent parts are null. */
record Event(
        Kind kind,
        int domain,
        String name,
        String service,
        Value.State state,
        boolean solicited,
        boolean complete,
        Long seq,
        Integer updateType,
        String group,
        Integer filter,
        Publisher publisher,
        Ack ack,
        Value attrib,
        Value payload) {
    enum Kind {
        REFRESH,
        UPDATE,
        STATUS,
        GENERIC,
        ACK
    }

    /** Who posted what this message tells. */
    record Publisher(long userId, long address) {}

    record Ack(long id, Integer nak, String text) {}

    static Event of(RefreshMsg m) {
        Publisher publisher =
                m.hasPublisherId() ? new Publisher(m.publisherIdUserId(), m.publisherIdUserAddress()) : null;
        return of(
                Kind.REFRESH, m, m.hasServiceName() ? m.serviceName() : null, Decode.state(m.state()), m.solicited(),
                m.complete(), m.hasSeqNum() ? m.seqNum() : null, null, Value.hex(m.itemGroup()), publisher, null);
    }

    static Event of(UpdateMsg m) {
        Publisher publisher =
                m.hasPublisherId() ? new Publisher(m.publisherIdUserId(), m.publisherIdUserAddress()) : null;
        return of(
                Kind.UPDATE, m, m.hasServiceName() ? m.serviceName() : null, null, false, true,
                m.hasSeqNum() ? m.seqNum() : null, m.updateTypeNum(), null, publisher, null);
    }

    static Event of(StatusMsg m) {
        return of(
                Kind.STATUS, m, m.hasServiceName() ? m.serviceName() : null,
                m.hasState() ? Decode.state(m.state()) : null, false, true, null, null,
                m.hasItemGroup() ? Value.hex(m.itemGroup()) : null, null, null);
    }

    static Event of(GenericMsg m) {
        return of(
                Kind.GENERIC, m, null, null, false, m.complete(), m.hasSeqNum() ? m.seqNum() : null, null, null, null,
                null);
    }

    static Event of(AckMsg m) {
        Ack ack = new Ack(m.ackId(), m.hasNackCode() ? m.nackCode() : null, m.hasText() ? m.text() : null);
        return of(
                Kind.ACK, m, m.hasServiceName() ? m.serviceName() : null, null, false, true,
                m.hasSeqNum() ? m.seqNum() : null, null, null, null, ack);
    }

    private static Event of(
            Kind kind, Msg m, String service, Value.State state, boolean solicited, boolean complete, Long seq,
            Integer updateType, String group, Publisher publisher, Ack ack) {
        return new Event(
                kind, m.domainType(), m.hasName() ? m.name() : null, service, state, solicited, complete, seq,
                updateType, group, m.hasFilter() ? (int) m.filter() : null, publisher, ack,
                Decode.value(m.attrib().data()), Decode.value(m.payload().data()));
    }

    boolean isImage() {
        return kind == Kind.REFRESH && complete;
    }

    boolean isUpdate() {
        return kind == Kind.UPDATE;
    }

    boolean is(Kind wanted) {
        return kind == wanted;
    }

    /** A refresh or status with this stream and data state. */
    boolean says(int stream, int data) {
        return state != null && state.stream() == stream && state.data() == data;
    }

    Value.Fields fields() {
        return payload instanceof Value.Fields fields ? fields : Value.fields();
    }
}
