package tapeline.ema;

import com.refinitiv.ema.access.ComplexType;
import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.ElementEntry;
import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.FieldList;
import com.refinitiv.ema.access.FilterList;
import com.refinitiv.ema.access.Map;
import com.refinitiv.ema.access.MapEntry;
import com.refinitiv.ema.access.OmmArray;
import com.refinitiv.ema.access.OmmArrayEntry;
import com.refinitiv.ema.access.Series;
import com.refinitiv.ema.access.UpdateMsg;
import com.refinitiv.ema.access.Vector;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Values written with the SDK. */
final class Encode {
    private Encode() {}

    static ComplexType payload(Value value) {
        if (value instanceof Value.Fields fields) {
            return fieldList(fields);
        }
        if (value instanceof Value.Elements elements) {
            return elementList(elements);
        }
        if (value instanceof Value.Rows rows) {
            return rows(rows);
        }
        if (value instanceof Value.Opaque opaque) {
            return EmaFactory.createOmmOpaque().buffer(Value.bytes(opaque.hex()));
        }
        if (value instanceof Value.Xml xml) {
            return EmaFactory.createOmmXml().string(xml.text());
        }
        if (value instanceof Value.AnsiPage page) {
            return EmaFactory.createOmmAnsiPage().buffer(Value.bytes(page.hex()));
        }
        if (value instanceof Value.Message message) {
            return update(message);
        }
        throw new IllegalArgumentException("no container: " + value);
    }

    static FieldList fieldList(Value.Fields fields) {
        FieldList list = EmaFactory.createFieldList();
        for (Value.Field field : fields.fields()) {
            list.add(entry(field));
        }
        return list;
    }

    static ElementList elementList(Value.Elements elements) {
        ElementList list = EmaFactory.createElementList();
        for (Value.Element element : elements.elements()) {
            list.add(entry(element));
        }
        return list;
    }

    private static UpdateMsg update(Value.Message message) {
        if (message.type() != DataTypes.UPDATE_MSG) {
            throw new IllegalArgumentException("only updates are carried inside of fields: " + message);
        }
        return EmaFactory.createUpdateMsg().payload(payload(message.payload()));
    }

    private static FieldEntry entry(Value.Field field) {
        int id = field.id();
        FieldEntry entry = EmaFactory.createFieldEntry();
        Value value = field.value();
        if (value instanceof Value.Int v) {
            return entry.intValue(id, v.value());
        }
        if (value instanceof Value.UInt v) {
            return entry.uintValue(id, v.value());
        }
        if (value instanceof Value.Float32 v) {
            return entry.floatValue(id, v.value());
        }
        if (value instanceof Value.Float64 v) {
            return entry.doubleValue(id, v.value());
        }
        if (value instanceof Value.Real v) {
            return entry.real(id, v.mantissa(), v.magnitude());
        }
        if (value instanceof Value.Date v) {
            return entry.date(id, v.year(), v.month(), v.day());
        }
        if (value instanceof Value.Time v) {
            return entry.time(id, v.hour(), v.minute(), v.second(), v.ms(), v.us(), v.ns());
        }
        if (value instanceof Value.DateTime v) {
            Value.Date d = v.date();
            Value.Time t = v.time();
            return entry.dateTime(id, d.year(), d.month(), d.day(), t.hour(), t.minute(), t.second(), t.ms(), t.us(), t.ns());
        }
        if (value instanceof Value.Qos v) {
            return entry.qos(id, v.timeliness(), v.rate());
        }
        if (value instanceof Value.State v) {
            return entry.state(id, v.stream(), v.data(), v.code(), v.text());
        }
        if (value instanceof Value.Enum v) {
            return entry.enumValue(id, v.value());
        }
        if (value instanceof Value.Array v) {
            return entry.array(id, array(v));
        }
        if (value instanceof Value.Buffer v) {
            return entry.buffer(id, Value.bytes(v.hex()));
        }
        if (value instanceof Value.Ascii v) {
            return entry.ascii(id, v.text());
        }
        if (value instanceof Value.Utf8 v) {
            return entry.utf8(id, ByteBuffer.wrap(v.text().getBytes(StandardCharsets.UTF_8)));
        }
        if (value instanceof Value.Rmtes v) {
            return entry.rmtes(id, rmtes(v));
        }
        if (value instanceof Value.Blank v) {
            return blank(entry, id, v.type());
        }
        return container(entry, id, value);
    }

    private static FieldEntry container(FieldEntry entry, int id, Value value) {
        if (value instanceof Value.Fields v) {
            return entry.fieldList(id, fieldList(v));
        }
        if (value instanceof Value.Elements v) {
            return entry.elementList(id, elementList(v));
        }
        if (value instanceof Value.Rows v) {
            return switch (v.type()) {
                case DataTypes.MAP -> entry.map(id, map(v));
                case DataTypes.VECTOR -> entry.vector(id, vector(v));
                case DataTypes.SERIES -> entry.series(id, series(v));
                default -> entry.filterList(id, filterList(v));
            };
        }
        if (value instanceof Value.Opaque v) {
            return entry.opaque(id, EmaFactory.createOmmOpaque().buffer(Value.bytes(v.hex())));
        }
        if (value instanceof Value.Xml v) {
            return entry.xml(id, EmaFactory.createOmmXml().string(v.text()));
        }
        if (value instanceof Value.AnsiPage v) {
            return entry.ansiPage(id, EmaFactory.createOmmAnsiPage().buffer(Value.bytes(v.hex())));
        }
        if (value instanceof Value.Message v) {
            return entry.updateMsg(id, update(v));
        }
        throw new IllegalArgumentException("no field: " + value);
    }

    private static FieldEntry blank(FieldEntry entry, int id, int type) {
        return switch (type) {
            case DataTypes.INT -> entry.codeInt(id);
            case DataTypes.UINT -> entry.codeUInt(id);
            case DataTypes.REAL -> entry.codeReal(id);
            case DataTypes.DATE -> entry.codeDate(id);
            case DataTypes.TIME -> entry.codeTime(id);
            case DataTypes.ENUM -> entry.codeEnum(id);
            case DataTypes.RMTES -> entry.codeRmtes(id);
            default -> throw new IllegalArgumentException("no blank of type " + type);
        };
    }

    private static ElementEntry entry(Value.Element element) {
        String name = element.name();
        ElementEntry entry = EmaFactory.createElementEntry();
        Value value = element.value();
        if (value instanceof Value.Int v) {
            return entry.intValue(name, v.value());
        }
        if (value instanceof Value.UInt v) {
            return entry.uintValue(name, v.value());
        }
        if (value instanceof Value.Ascii v) {
            return entry.ascii(name, v.text());
        }
        if (value instanceof Value.State v) {
            return entry.state(name, v.stream(), v.data(), v.code(), v.text());
        }
        if (value instanceof Value.Buffer v) {
            return entry.buffer(name, Value.bytes(v.hex()));
        }
        if (value instanceof Value.Array v) {
            return entry.array(name, array(v));
        }
        throw new IllegalArgumentException("no element: " + value);
    }

    private static OmmArray array(Value.Array array) {
        OmmArray list = EmaFactory.createOmmArray();
        for (Value item : array.items()) {
            OmmArrayEntry entry = EmaFactory.createOmmArrayEntry();
            if (item instanceof Value.Int v) {
                list.add(entry.intValue(v.value()));
            } else if (item instanceof Value.UInt v) {
                list.add(entry.uintValue(v.value()));
            } else if (item instanceof Value.Ascii v) {
                list.add(entry.ascii(v.text()));
            } else if (item instanceof Value.Real v) {
                list.add(entry.real(v.mantissa(), v.magnitude()));
            } else {
                throw new IllegalArgumentException("no array item: " + item);
            }
        }
        return list;
    }

    private static ComplexType rows(Value.Rows rows) {
        return switch (rows.type()) {
            case DataTypes.MAP -> map(rows);
            case DataTypes.VECTOR -> vector(rows);
            case DataTypes.SERIES -> series(rows);
            default -> filterList(rows);
        };
    }

    static Map map(Value.Rows rows) {
        Map map = EmaFactory.createMap();
        if (!(rows.summary() instanceof Value.None)) {
            map.summaryData(payload(rows.summary()));
        }
        for (Value.Row row : rows.rows()) {
            map.add(mapEntry(row));
        }
        return map;
    }

    private static MapEntry mapEntry(Value.Row row) {
        MapEntry entry = EmaFactory.createMapEntry();
        // The SDK wants a load of the map's type for a deletion, too, and does not send it.
        ComplexType load = row.load() instanceof Value.None ? EmaFactory.createFieldList() : payload(row.load());
        if (row.key() instanceof Value.Buffer key) {
            return entry.keyBuffer(Value.bytes(key.hex()), row.action(), load);
        }
        if (row.key() instanceof Value.Ascii key) {
            return entry.keyAscii(key.text(), row.action(), load);
        }
        if (row.key() instanceof Value.UInt key) {
            return entry.keyUInt(key.value(), row.action(), load);
        }
        throw new IllegalArgumentException("no map key: " + row.key());
    }

    private static Vector vector(Value.Rows rows) {
        Vector vector = EmaFactory.createVector();
        for (Value.Row row : rows.rows()) {
            long position = ((Value.UInt) row.key()).value();
            vector.add(EmaFactory.createVectorEntry().fieldList(position, row.action(), fieldList((Value.Fields) row.load())));
        }
        return vector;
    }

    private static Series series(Value.Rows rows) {
        Series series = EmaFactory.createSeries();
        for (Value.Row row : rows.rows()) {
            series.add(EmaFactory.createSeriesEntry().fieldList(fieldList((Value.Fields) row.load())));
        }
        return series;
    }

    private static FilterList filterList(Value.Rows rows) {
        FilterList list = EmaFactory.createFilterList();
        for (Value.Row row : rows.rows()) {
            int id = (int) ((Value.UInt) row.key()).value();
            list.add(EmaFactory.createFilterEntry().elementList(id, row.action(), elementList((Value.Elements) row.load())));
        }
        return list;
    }

    private static ByteBuffer rmtes(Value.Rmtes value) {
        return ByteBuffer.wrap(value.text().getBytes(StandardCharsets.US_ASCII));
    }
}
