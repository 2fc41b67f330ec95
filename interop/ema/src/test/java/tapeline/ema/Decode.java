package tapeline.ema;

import com.refinitiv.ema.access.Data;
import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.ElementEntry;
import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.FieldList;
import com.refinitiv.ema.access.FilterEntry;
import com.refinitiv.ema.access.FilterList;
import com.refinitiv.ema.access.Map;
import com.refinitiv.ema.access.MapEntry;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmAnsiPage;
import com.refinitiv.ema.access.OmmArray;
import com.refinitiv.ema.access.OmmArrayEntry;
import com.refinitiv.ema.access.OmmAscii;
import com.refinitiv.ema.access.OmmBuffer;
import com.refinitiv.ema.access.OmmDate;
import com.refinitiv.ema.access.OmmDateTime;
import com.refinitiv.ema.access.OmmDouble;
import com.refinitiv.ema.access.OmmEnum;
import com.refinitiv.ema.access.OmmError;
import com.refinitiv.ema.access.OmmFloat;
import com.refinitiv.ema.access.OmmInt;
import com.refinitiv.ema.access.OmmOpaque;
import com.refinitiv.ema.access.OmmQos;
import com.refinitiv.ema.access.OmmReal;
import com.refinitiv.ema.access.OmmRmtes;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.OmmTime;
import com.refinitiv.ema.access.OmmUInt;
import com.refinitiv.ema.access.OmmUtf8;
import com.refinitiv.ema.access.OmmXml;
import com.refinitiv.ema.access.Series;
import com.refinitiv.ema.access.SeriesEntry;
import com.refinitiv.ema.access.SummaryData;
import com.refinitiv.ema.access.Vector;
import com.refinitiv.ema.access.VectorEntry;
import java.util.ArrayList;
import java.util.List;

/** What the SDK decoded, copied out of its buffers. */
final class Decode {
    private Decode() {}

    /** A value, or the container of a payload. */
    static Value value(Data data) {
        if (data.dataType() != DataTypes.ERROR && data.dataType() < DataTypes.NO_DATA) {
            return primitive(data);
        }
        return switch (data.dataType()) {
            case DataTypes.NO_DATA -> new Value.None();
            case DataTypes.FIELD_LIST -> fields((FieldList) data);
            case DataTypes.ELEMENT_LIST -> elements((ElementList) data);
            case DataTypes.MAP -> map((Map) data);
            case DataTypes.VECTOR -> vector((Vector) data);
            case DataTypes.SERIES -> series((Series) data);
            case DataTypes.FILTER_LIST -> filterList((FilterList) data);
            case DataTypes.OPAQUE -> new Value.Opaque(Value.hex(((OmmOpaque) data).buffer()));
            case DataTypes.XML -> new Value.Xml(((OmmXml) data).string());
            case DataTypes.ANSI_PAGE -> new Value.AnsiPage(Value.hex(((OmmAnsiPage) data).buffer()));
            case DataTypes.ERROR -> new Value.Unreadable(((OmmError) data).errorCodeAsString());
            default -> data instanceof Msg msg
                    ? new Value.Message(data.dataType(), value(msg.payload().data()))
                    : new Value.Unreadable("data type " + data.dataType());
        };
    }

    private static Value primitive(Data data) {
        if (data.code() == Data.DataCode.BLANK) {
            return new Value.Blank(data.dataType());
        }
        return switch (data.dataType()) {
            case DataTypes.INT -> new Value.Int(((OmmInt) data).intValue());
            case DataTypes.UINT -> new Value.UInt(((OmmUInt) data).longValue());
            case DataTypes.FLOAT -> new Value.Float32(((OmmFloat) data).floatValue());
            case DataTypes.DOUBLE -> new Value.Float64(((OmmDouble) data).doubleValue());
            case DataTypes.REAL -> new Value.Real(((OmmReal) data).mantissa(), ((OmmReal) data).magnitudeType());
            case DataTypes.DATE -> date((OmmDate) data);
            case DataTypes.TIME -> time((OmmTime) data);
            case DataTypes.DATETIME -> dateTime((OmmDateTime) data);
            case DataTypes.QOS -> new Value.Qos(((OmmQos) data).timeliness(), ((OmmQos) data).rate());
            case DataTypes.STATE -> state((OmmState) data);
            case DataTypes.ENUM -> new Value.Enum(((OmmEnum) data).enumValue());
            case DataTypes.ARRAY -> array((OmmArray) data);
            case DataTypes.BUFFER -> new Value.Buffer(Value.hex(((OmmBuffer) data).buffer()));
            case DataTypes.ASCII -> new Value.Ascii(((OmmAscii) data).ascii());
            case DataTypes.UTF8 -> new Value.Utf8(utf8((OmmUtf8) data));
            case DataTypes.RMTES -> new Value.Rmtes(((OmmRmtes) data).rmtes().toString());
            default -> new Value.Unreadable("data type " + data.dataType());
        };
    }

    /** The SDK's own conversion takes the platform's character set. */
    private static String utf8(OmmUtf8 data) {
        return java.nio.charset.StandardCharsets.UTF_8.decode(data.buffer()).toString();
    }

    static Value.State state(OmmState state) {
        return new Value.State(state.streamState(), state.dataState(), state.statusCode(), state.statusText());
    }

    private static Value.Date date(OmmDate v) {
        return new Value.Date(v.year(), v.month(), v.day());
    }

    private static Value.Time time(OmmTime v) {
        return new Value.Time(v.hour(), v.minute(), v.second(), v.millisecond(), v.microsecond(), v.nanosecond());
    }

    private static Value.DateTime dateTime(OmmDateTime v) {
        return new Value.DateTime(
                new Value.Date(v.year(), v.month(), v.day()),
                new Value.Time(v.hour(), v.minute(), v.second(), v.millisecond(), v.microsecond(), v.nanosecond()));
    }

    private static Value.Array array(OmmArray array) {
        List<Value> items = new ArrayList<>();
        for (OmmArrayEntry entry : array) {
            items.add(value(entry.load()));
        }
        return new Value.Array(items);
    }

    static Value.Fields fields(FieldList list) {
        List<Value.Field> fields = new ArrayList<>();
        for (FieldEntry entry : list) {
            fields.add(new Value.Field(entry.fieldId(), value(entry.load())));
        }
        return new Value.Fields(fields);
    }

    private static Value.Elements elements(ElementList list) {
        List<Value.Element> elements = new ArrayList<>();
        for (ElementEntry entry : list) {
            elements.add(new Value.Element(entry.name(), value(entry.load())));
        }
        return new Value.Elements(elements);
    }

    private static Value summary(SummaryData data) {
        return value(data.data());
    }

    private static Value.Rows map(Map map) {
        List<Value.Row> rows = new ArrayList<>();
        for (MapEntry entry : map) {
            rows.add(new Value.Row(primitive(entry.key().data()), entry.action(), value(entry.load())));
        }
        return new Value.Rows(DataTypes.MAP, summary(map.summaryData()), rows);
    }

    private static Value.Rows vector(Vector vector) {
        List<Value.Row> rows = new ArrayList<>();
        for (VectorEntry entry : vector) {
            rows.add(new Value.Row(new Value.UInt(entry.position()), entry.action(), value(entry.load())));
        }
        return new Value.Rows(DataTypes.VECTOR, summary(vector.summaryData()), rows);
    }

    private static Value.Rows series(Series series) {
        List<Value.Row> rows = new ArrayList<>();
        for (SeriesEntry entry : series) {
            rows.add(new Value.Row(null, 0, value(entry.load())));
        }
        return new Value.Rows(DataTypes.SERIES, summary(series.summaryData()), rows);
    }

    private static Value.Rows filterList(FilterList list) {
        List<Value.Row> rows = new ArrayList<>();
        for (FilterEntry entry : list) {
            rows.add(new Value.Row(new Value.UInt(entry.filterId()), entry.action(), value(entry.load())));
        }
        return new Value.Rows(DataTypes.FILTER_LIST, new Value.None(), rows);
    }
}
