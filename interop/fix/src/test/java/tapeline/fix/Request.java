package tapeline.fix;

import java.time.LocalDateTime;
import java.time.ZoneOffset;
import quickfix.Group;
import quickfix.Message;
import quickfix.UtcTimestampPrecision;

/** A request to the exchange, with what the exchange wants in each unless a test says otherwise. */
final class Request {
    static final String BUY = "1";
    static final String SELL = "2";
    static final int INSTRUMENT = 1;

    private final Message message = new Message();

    private Request(String type, String name) {
        message.getHeader().setString(35, type);
        message.setString(11, name);
        message.setUtcTimeStamp(60, LocalDateTime.now(ZoneOffset.UTC), UtcTimestampPrecision.MICROS);
    }

    /** An order without limit and stop, unless they follow; all of it is shown. */
    private static Request order(String name, String side, long quantity) {
        return new Request("D", name)
                .instrument(INSTRUMENT)
                .party("TRADER-1", 'D', 76)
                .party("7", 'P', 3)
                .party("8", 'P', 122)
                .party("9", 'P', 12)
                .with(54, side)
                .with(40, "1")
                .with(581, "1")
                .with(528, "P")
                .quantity(quantity);
    }

    static Request buy(String name, long quantity) {
        return order(name, BUY, quantity);
    }

    static Request sell(String name, long quantity) {
        return order(name, SELL, quantity);
    }

    /** A cancel of an order that is named as its last request was. */
    static Request cancel(String name, Order order) {
        return of("F", name, order);
    }

    /** An amendment, with all that it must have. */
    static Request amend(String name, Order order, long quantity) {
        return of("G", name, order).with(40, "2").quantity(quantity);
    }

    /** A cancel of all that a type and what is added say. */
    static Request massCancel(String name, String type) {
        return new Request("q", name).with(530, type);
    }

    private static Request of(String type, String name, Order order) {
        return new Request(type, name)
                .instrument(INSTRUMENT)
                .party("TRADER-1", 'D', 76)
                .with(41, order.name())
                .with(54, order.side());
    }

    Request instrument(int id) {
        return with(48, Integer.toString(id)).with(22, "8");
    }

    Request quantity(long quantity) {
        return with(38, Long.toString(quantity)).with(1138, Long.toString(quantity));
    }

    Request limit(String price) {
        return with(40, message.isSetField(99) ? "4" : "2").with(44, price);
    }

    Request stop(String price) {
        return with(40, message.isSetField(44) ? "4" : "3").with(99, price);
    }

    Request timeInForce(String code) {
        return with(59, code);
    }

    Request shows(long quantity) {
        return with(1138, Long.toString(quantity));
    }

    Request with(int tag, String value) {
        message.setString(tag, value);
        return this;
    }

    Request without(int tag) {
        message.removeField(tag);
        message.removeGroup(tag);
        return this;
    }

    private Request party(String id, char source, int role) {
        Group party = new Group(453, 448, new int[] {448, 447, 452, 0});
        party.setString(448, id);
        party.setChar(447, source);
        party.setInt(452, role);
        message.addGroup(party);
        return this;
    }

    /** A mass cancel is for all of the user's firm. */
    Request ofFirm() {
        Group target = new Group(1461, 1462, new int[] {1462, 1463, 1464, 0});
        target.setString(1462, "1");
        target.setChar(1463, 'D');
        target.setInt(1464, 1);
        message.addGroup(target);
        return this;
    }

    String name() {
        return Fields.of(message, 11);
    }

    String side() {
        return Fields.of(message, 54);
    }

    Message message() {
        return message;
    }
}
