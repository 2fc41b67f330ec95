package tapeline.wirebench;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Date;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.LocalFieldSetDefDb;
import com.refinitiv.eta.codec.Map;
import com.refinitiv.eta.codec.MapEntry;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.MsgKey;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.Time;
import com.refinitiv.eta.codec.UInt;
import com.refinitiv.eta.codec.UpdateMsg;

import java.nio.ByteBuffer;

/**
 * Decodes as a careful ETA consumer does: every object is made once and used again, no strings are
 * made, the type of a field comes from a table by field id. What is decoded goes into a sum, defined
 * in the README of the messages, so that nothing can be left out unnoticed.
 */
final class Decoder {
    private static final int FIELD_IDS = 65_536;

    private final DecodeIterator iterator = CodecFactory.createDecodeIterator();
    private final Buffer input = CodecFactory.createBuffer();
    private final Msg msg = CodecFactory.createMsg();
    private final FieldList fieldList = CodecFactory.createFieldList();
    private final FieldEntry field = CodecFactory.createFieldEntry();
    private final Map map = CodecFactory.createMap();
    private final MapEntry entry = CodecFactory.createMapEntry();
    private final LocalFieldSetDefDb setDefinitions = CodecFactory.createLocalFieldSetDefDb();
    private final Buffer key = CodecFactory.createBuffer();

    private final Real real = CodecFactory.createReal();
    private final UInt uint = CodecFactory.createUInt();
    private final com.refinitiv.eta.codec.Enum enumeration = CodecFactory.createEnum();
    private final Date date = CodecFactory.createDate();
    private final Time time = CodecFactory.createTime();
    private final Buffer text = CodecFactory.createBuffer();

    /** The dictionary: type code by field id, counted from the lowest possible id. */
    private final byte[] typeOfField = new byte[FIELD_IDS];

    /** Adds the fields of a message to the dictionary. */
    void learn(Message message) {
        if (message.fields != null) learn(message.fields);
        else {
            learn(message.summary);
            for (Message.Row row : message.rows) learn(row.fields());
        }
    }

    private void learn(Fields fields) {
        for (int i = 0; i < fields.count; i++) typeOfField[fields.id[i] + FIELD_IDS / 2] = (byte) fields.type[i];
    }

    /** The message header alone. */
    long header(ByteBuffer bytes) {
        return decodeHeader(bytes) + msg.encodedDataBody().position() + msg.encodedDataBody().length();
    }

    /** Header and all of the payload. */
    long message(ByteBuffer bytes) {
        long sum = decodeHeader(bytes);
        return sum + (msg.containerType() == DataTypes.MAP ? decodeMap() : decodeFieldList(null));
    }

    private long decodeHeader(ByteBuffer bytes) {
        input.data(bytes);
        iterator.clear();
        Check.ok(iterator.setBufferAndRWFVersion(input, Codec.majorVersion(), Codec.minorVersion()));
        Check.ok(msg.decode(iterator));
        long sum = msg.msgClass() + msg.domainType() + msg.streamId() + msg.flags() + msg.containerType();
        MsgKey msgKey = null;
        if (msg.msgClass() == MsgClasses.UPDATE) {
            UpdateMsg update = (UpdateMsg) msg;
            sum += update.updateType();
            if (update.checkHasSeqNum()) sum += update.seqNum();
            if (update.checkHasMsgKey()) msgKey = update.msgKey();
        } else if (msg.msgClass() == MsgClasses.REFRESH) {
            RefreshMsg refresh = (RefreshMsg) msg;
            sum += refresh.state().streamState() + refresh.state().dataState() + refresh.state().code();
            sum += bytesSum(refresh.state().text()) + bytesSum(refresh.groupId());
            if (refresh.checkHasSeqNum()) sum += refresh.seqNum();
            if (refresh.checkHasPermData()) sum += bytesSum(refresh.permData());
            if (refresh.checkHasQos()) sum += refresh.qos().timeliness() + refresh.qos().rate();
            if (refresh.checkHasMsgKey()) msgKey = refresh.msgKey();
        }
        if (msgKey != null) {
            if (msgKey.checkHasServiceId()) sum += msgKey.serviceId();
            if (msgKey.checkHasName()) sum += bytesSum(msgKey.name());
            if (msgKey.checkHasNameType()) sum += msgKey.nameType();
        }
        return sum;
    }

    private long decodeMap() {
        Check.ok(map.decode(iterator));
        long sum = map.keyPrimitiveType() + map.containerType();
        if (map.checkHasKeyFieldId()) sum += map.keyFieldId();
        if (map.checkHasTotalCountHint()) sum += map.totalCountHint();
        LocalFieldSetDefDb definitions = null;
        if (map.checkHasSetDefs()) {
            setDefinitions.clear();
            Check.ok(setDefinitions.decode(iterator));
            definitions = setDefinitions;
        }
        if (map.checkHasSummaryData()) sum += decodeFieldList(definitions);
        int code;
        while ((code = entry.decode(iterator, key)) != CodecReturnCodes.END_OF_CONTAINER) {
            Check.ok(code);
            sum += entry.action() + bytesSum(key) + decodeFieldList(definitions);
        }
        return sum;
    }

    private long decodeFieldList(LocalFieldSetDefDb definitions) {
        Check.ok(fieldList.decode(iterator, definitions));
        long sum = fieldList.checkHasInfo() ? fieldList.dictionaryId() + fieldList.fieldListNum() : 0;
        int code;
        while ((code = field.decode(iterator)) != CodecReturnCodes.END_OF_CONTAINER) {
            Check.ok(code);
            sum += field.fieldId() + decodeValue(typeOfField[field.fieldId() + FIELD_IDS / 2]);
        }
        return sum;
    }

    /** The sum of one value; a blank counts 0. */
    private long decodeValue(int type) {
        int code;
        switch (type) {
            case DataTypes.REAL:
                code = real.decode(iterator);
                if (code == CodecReturnCodes.SUCCESS) return real.toLong() + real.hint();
                break;
            case DataTypes.ENUM:
                code = enumeration.decode(iterator);
                if (code == CodecReturnCodes.SUCCESS) return enumeration.toInt();
                break;
            case DataTypes.UINT:
                code = uint.decode(iterator);
                if (code == CodecReturnCodes.SUCCESS) return uint.toLong();
                break;
            case DataTypes.TIME:
                code = time.decode(iterator);
                if (code == CodecReturnCodes.SUCCESS) {
                    return time.hour() + time.minute() + time.second() + time.millisecond() + time.microsecond() + time.nanosecond();
                }
                break;
            case DataTypes.DATE:
                code = date.decode(iterator);
                if (code == CodecReturnCodes.SUCCESS) return date.day() + date.month() + date.year();
                break;
            case DataTypes.RMTES_STRING:
                code = text.decode(iterator);
                if (code == CodecReturnCodes.SUCCESS) return bytesSum(text);
                break;
            default:
                throw new IllegalStateException("field " + field.fieldId() + " is not in the dictionary");
        }
        if (code != CodecReturnCodes.BLANK_DATA) Check.ok(code);
        return 0;
    }

    /** A byte string: its length and its first byte. */
    private static long bytesSum(Buffer bytes) {
        return bytes.length() == 0 ? 0 : bytes.length() + bytes.data().get(bytes.position());
    }
}
