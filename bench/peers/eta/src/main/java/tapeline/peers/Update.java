package tapeline.peers;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.Enum;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.RealHints;
import com.refinitiv.eta.codec.UInt;
import com.refinitiv.eta.codec.UpdateMsg;
import com.refinitiv.eta.rdm.DomainTypes;
import com.refinitiv.eta.rdm.UpdateEventTypes;
import java.nio.ByteBuffer;

/** The update of the comparison: 85 bytes, encoded once and copied for each client. */
final class Update {
    /** The place of the stream in a message, which is the same in every one: length, class, domain. */
    static final int STREAM_AT = 4;

    /** Keeps the numbers at eight bytes: the encoder leaves zeros in front away. */
    private static final long TOP = Long.MIN_VALUE;

    private static final int DUE_FIELD = 3902;
    private static final int NUMBER_FIELD = 3903;

    private final EncodeIterator iterator = CodecFactory.createEncodeIterator();
    private final Buffer buffer = CodecFactory.createBuffer();
    private final ByteBuffer room = ByteBuffer.allocate(256);
    private final UpdateMsg message = (UpdateMsg) CodecFactory.createMsg();
    private final FieldList list = CodecFactory.createFieldList();
    private final FieldEntry entry = CodecFactory.createFieldEntry();
    private final Real real = CodecFactory.createReal();
    private final UInt uint = CodecFactory.createUInt();
    private final Enum exchange = CodecFactory.createEnum();
    private final int major;
    private final int minor;

    Update(int major, int minor) {
        this.major = major;
        this.minor = minor;
        exchange.value(558);
        message.msgClass(MsgClasses.UPDATE);
        message.domainType(DomainTypes.MARKET_PRICE);
        message.updateType(UpdateEventTypes.QUOTE);
        message.containerType(DataTypes.FIELD_LIST);
        buffer.data(room);
    }

    byte[] bytes() {
        return room.array();
    }

    /** Encodes an update that was due at a moment. Returns its length. */
    int encode(long due, long number) {
        room.clear();
        buffer.data(room, 0, room.capacity());
        iterator.clear();
        check(iterator.setBufferAndRWFVersion(buffer, major, minor));
        check(message.encodeInit(iterator, 0));
        fields(iterator, due, number);
        check(message.encodeComplete(iterator, true));
        return buffer.length();
    }

    /** The fields, for an image also. */
    void fields(EncodeIterator into, long due, long number) {
        list.clear();
        list.applyHasStandardData();
        check(list.encodeInit(into, null, 0));
        price(into, 6, 101_234_567, RealHints.EXPONENT_4);
        price(into, 22, 101_234_500, RealHints.EXPONENT_4);
        price(into, 25, 101_234_600, RealHints.EXPONENT_4);
        price(into, 32, 987_654_321, RealHints.EXPONENT0);
        price(into, 30, 1_200, RealHints.EXPONENT0);
        price(into, 31, 1_300, RealHints.EXPONENT0);
        entry.clear();
        entry.fieldId(4);
        entry.dataType(DataTypes.ENUM);
        check(entry.encode(into, exchange));
        number(into, DUE_FIELD, due | TOP);
        number(into, NUMBER_FIELD, number | TOP);
        check(list.encodeComplete(into, true));
    }

    private void price(EncodeIterator into, int field, long value, int hint) {
        real.value(value, hint);
        entry.clear();
        entry.fieldId(field);
        entry.dataType(DataTypes.REAL);
        check(entry.encode(into, real));
    }

    private void number(EncodeIterator into, int field, long value) {
        uint.value(value);
        entry.clear();
        entry.fieldId(field);
        entry.dataType(DataTypes.UINT);
        check(entry.encode(into, uint));
    }

    static void check(int code) {
        if (code < CodecReturnCodes.SUCCESS) {
            throw new IllegalStateException("encode: " + CodecReturnCodes.toString(code));
        }
    }
}
