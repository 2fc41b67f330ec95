package tapeline.ema;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;

/**
 * What a field, an element or a message carries, as data that can be compared.
 *
 * <p>{@link Encode} writes it with the SDK, {@link Decode} reads it back: two equal values are equal
 * in every detail an application can see through the SDK.
 */
sealed interface Value {
    record Int(long value) implements Value {}

    record UInt(long value) implements Value {}

    record Float32(float value) implements Value {}

    record Float64(double value) implements Value {}

    /** {@code magnitude} is a constant of {@code OmmReal.MagnitudeType}. */
    record Real(long mantissa, int magnitude) implements Value {}

    record Date(int year, int month, int day) implements Value {}

    record Time(int hour, int minute, int second, int ms, int us, int ns) implements Value {}

    record DateTime(Date date, Time time) implements Value {}

    record Qos(int timeliness, int rate) implements Value {}

    record State(int stream, int data, int code, String text) implements Value {}

    record Enum(int value) implements Value {}

    record Array(List<Value> items) implements Value {}

    record Buffer(String hex) implements Value {}

    record Ascii(String text) implements Value {}

    record Utf8(String text) implements Value {}

    record Rmtes(String text) implements Value {}

    /** A value that says it has none; {@code type} is a constant of {@code DataType.DataTypes}. */
    record Blank(int type) implements Value {}

    record Opaque(String hex) implements Value {}

    record Xml(String text) implements Value {}

    record AnsiPage(String hex) implements Value {}

    record Fields(List<Field> fields) implements Value {
        /** The value of a field, null if it is not there. */
        Value get(int id) {
            return fields.stream().filter(field -> field.id() == id).map(Field::value).findFirst().orElse(null);
        }
    }

    record Field(int id, Value value) {}

    record Elements(List<Element> elements) implements Value {
        /** The value of an element, null if it is not there. */
        Value get(String name) {
            return elements.stream().filter(e -> e.name().equals(name)).map(Element::value).findFirst().orElse(null);
        }
    }

    record Element(String name, Value value) {}

    /** A map, vector, series or filter list; {@code type} is a constant of {@code DataType.DataTypes}. */
    record Rows(int type, Value summary, List<Row> rows) implements Value {
        /** The load of the first row with this key, null if there is none. */
        Value get(Value key) {
            return rows.stream().filter(row -> key.equals(row.key())).map(Row::load).findFirst().orElse(null);
        }
    }

    /** {@code key} is the map's key, the vector's position or the filter's number; null in a series. */
    record Row(Value key, int action, Value load) {}

    /** A message as content, for example of a post. {@code type} is a constant of {@code DataType.DataTypes}. */
    record Message(int type, Value payload) implements Value {}

    /** No content at all. */
    record None() implements Value {}

    /** The SDK could not read it: equal to nothing that was ever published. */
    record Unreadable(String why) implements Value {}

    static Value.Fields fields(Field... fields) {
        return new Fields(List.of(fields));
    }

    static Field field(int id, Value value) {
        return new Field(id, value);
    }

    static String hex(ByteBuffer bytes) {
        ByteBuffer copy = bytes.duplicate();
        byte[] array = new byte[copy.remaining()];
        copy.get(array);
        return HexFormat.of().formatHex(array);
    }

    static ByteBuffer bytes(String hex) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(hex));
    }
}
