package tapeline.wirebench;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataStates;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Date;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.LocalFieldSetDefDb;
import com.refinitiv.eta.codec.Map;
import com.refinitiv.eta.codec.MapEntry;
import com.refinitiv.eta.codec.MapEntryActions;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.MsgKey;
import com.refinitiv.eta.codec.QosRates;
import com.refinitiv.eta.codec.QosTimeliness;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.StateCodes;
import com.refinitiv.eta.codec.StreamStates;
import com.refinitiv.eta.codec.Time;
import com.refinitiv.eta.codec.UInt;
import com.refinitiv.eta.codec.UpdateMsg;

import java.nio.ByteBuffer;

/**
 * Encodes as ETA providers ordinarily do: encodeInit, the parts, encodeComplete, without size hints,
 * so lengths that are written before their content take the long form. Every object is made once.
 */
final class Encoder {
    private static final int NO_SIZE_HINT = 0;

    private final EncodeIterator iterator = CodecFactory.createEncodeIterator();
    private final Buffer output = CodecFactory.createBuffer();
    private final Msg msg = CodecFactory.createMsg();
    private final FieldList fieldList = CodecFactory.createFieldList();
    private final FieldEntry field = CodecFactory.createFieldEntry();
    private final Map map = CodecFactory.createMap();
    private final MapEntry entry = CodecFactory.createMapEntry();

    private final Real real = CodecFactory.createReal();
    private final UInt uint = CodecFactory.createUInt();
    private final com.refinitiv.eta.codec.Enum enumeration = CodecFactory.createEnum();
    private final Date date = CodecFactory.createDate();
    private final Time time = CodecFactory.createTime();

    /** Writes the message from the start of {@code bytes} and returns its length. */
    int message(Message message, ByteBuffer bytes) {
        bytes.clear();
        output.data(bytes);
        iterator.clear();
        Check.ok(iterator.setBufferAndRWFVersion(output, Codec.majorVersion(), Codec.minorVersion()));
        header(message);
        Check.ok(msg.encodeInit(iterator, NO_SIZE_HINT));
        if (message.fields == null) map(message);
        else fieldList(message.fields, message.dictionaryId, message.fieldListNum, null);
        Check.ok(msg.encodeComplete(iterator, true));
        return bytes.position();
    }

    private void header(Message message) {
        msg.clear();
        msg.msgClass(message.refresh ? MsgClasses.REFRESH : MsgClasses.UPDATE);
        msg.domainType(message.domain);
        msg.streamId(message.streamId);
        msg.containerType(message.containerType());
        if (message.refresh) refresh((RefreshMsg) msg, message);
        else {
            UpdateMsg update = (UpdateMsg) msg;
            update.updateType(message.updateType);
            update.applyHasSeqNum();
            update.seqNum(message.seqNum);
            if (message.keyName != null) update.applyHasMsgKey();
        }
        if (message.keyName != null) {
            MsgKey key = msg.msgKey();
            key.applyHasServiceId();
            key.serviceId(message.serviceId);
            key.applyHasName();
            key.name(message.keyName);
            key.applyHasNameType();
            key.nameType(message.nameType);
        }
    }

    private static void refresh(RefreshMsg refresh, Message message) {
        refresh.applySolicited();
        refresh.applyRefreshComplete();
        refresh.applyHasMsgKey();
        refresh.applyHasSeqNum();
        refresh.seqNum(message.seqNum);
        refresh.state().streamState(StreamStates.OPEN);
        refresh.state().dataState(DataStates.OK);
        refresh.state().code(StateCodes.NONE);
        refresh.state().text(message.stateText);
        refresh.groupId(message.groupId);
        refresh.applyHasPermData();
        refresh.permData(message.permData);
        refresh.applyHasQos();
        refresh.qos().timeliness(QosTimeliness.REALTIME);
        refresh.qos().rate(QosRates.TICK_BY_TICK);
    }

    private void map(Message message) {
        map.clear();
        map.keyPrimitiveType(DataTypes.RMTES_STRING);
        map.containerType(DataTypes.FIELD_LIST);
        map.applyHasKeyFieldId();
        map.keyFieldId(message.keyFieldId);
        map.applyHasSummaryData();
        map.applyHasTotalCountHint();
        map.totalCountHint(message.rows.length);
        if (message.setDefinition != null) map.applyHasSetDefs();
        Check.ok(map.encodeInit(iterator, NO_SIZE_HINT, NO_SIZE_HINT));
        if (message.setDefinition != null) {
            Check.ok(message.setDefinition.encode(iterator));
            Check.ok(map.encodeSetDefsComplete(iterator, true));
        }
        fieldList(message.summary, 0, 0, null);
        Check.ok(map.encodeSummaryDataComplete(iterator, true));
        for (Message.Row row : message.rows) {
            entry.clear();
            entry.action(MapEntryActions.ADD);
            Check.ok(entry.encodeInit(iterator, row.key(), NO_SIZE_HINT));
            fieldList(row.fields(), 0, 0, message.setDefinition);
            Check.ok(entry.encodeComplete(iterator, true));
        }
        Check.ok(map.encodeComplete(iterator, true));
    }

    private void fieldList(Fields fields, int dictionaryId, int fieldListNum, LocalFieldSetDefDb definitions) {
        fieldList.clear();
        if (fieldListNum != 0) {
            fieldList.applyHasInfo();
            fieldList.dictionaryId(dictionaryId);
            fieldList.fieldListNum(fieldListNum);
        }
        if (definitions == null) fieldList.applyHasStandardData();
        else fieldList.applyHasSetData();
        Check.ok(fieldList.encodeInit(iterator, definitions, NO_SIZE_HINT));
        for (int i = 0; i < fields.count; i++) {
            field.fieldId(fields.id[i]);
            field.dataType(fields.type[i]);
            Check.ok(fields.blank[i] ? field.encodeBlank(iterator) : value(fields, i));
        }
        Check.ok(fieldList.encodeComplete(iterator, true));
    }

    private int value(Fields fields, int i) {
        switch (fields.type[i]) {
            case DataTypes.REAL:
                Check.ok(real.value(fields.number[i], fields.hint[i]));
                return field.encode(iterator, real);
            case DataTypes.ENUM:
                Check.ok(enumeration.value((int) fields.number[i]));
                return field.encode(iterator, enumeration);
            case DataTypes.UINT:
                uint.value(fields.number[i]);
                return field.encode(iterator, uint);
            case DataTypes.TIME:
                int[] clock = fields.parts[i];
                time.hour(clock[0]);
                time.minute(clock[1]);
                time.second(clock[2]);
                time.millisecond(clock[3]);
                time.microsecond(clock[4]);
                time.nanosecond(clock[5]);
                return field.encode(iterator, time);
            case DataTypes.DATE:
                int[] day = fields.parts[i];
                date.day(day[0]);
                date.month(day[1]);
                date.year(day[2]);
                return field.encode(iterator, date);
            case DataTypes.RMTES_STRING:
                return field.encode(iterator, fields.text[i]);
            default:
                throw new IllegalStateException("no encoder for type " + DataTypes.toString(fields.type[i]));
        }
    }
}
