package tapeline.wirebench;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataTypes;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Field values as an application holds them before it encodes: plain numbers in arrays, one slot a
 * field. Nothing in here is an ETA value except the string buffers, which an application keeps too.
 */
final class Fields {
    final int count;
    final int[] id;
    /** A code of {@link DataTypes}, never a set-only one. */
    final int[] type;
    final boolean[] blank;
    /** UINT, ENUM: the value. REAL: the mantissa. */
    final long[] number;
    /** REAL only. */
    final int[] hint;
    /** DATE: day, month, year. TIME: hour, minute, second, millisecond, microsecond, nanosecond. */
    final int[][] parts;
    final Buffer[] text;

    /** Reads {@code [[id, "TYPE", value], ...]}. */
    Fields(JsonArray json) {
        count = json.size();
        id = new int[count];
        type = new int[count];
        blank = new boolean[count];
        number = new long[count];
        hint = new int[count];
        parts = new int[count][];
        text = new Buffer[count];
        for (int i = 0; i < count; i++) {
            JsonArray field = json.get(i).getAsJsonArray();
            id[i] = field.get(0).getAsInt();
            type[i] = typeCode(field.get(1).getAsString());
            JsonElement value = field.get(2);
            if (value.isJsonNull()) blank[i] = true;
            else read(i, value);
        }
    }

    private void read(int i, JsonElement value) {
        switch (type[i]) {
            case DataTypes.UINT, DataTypes.ENUM -> number[i] = value.getAsLong();
            case DataTypes.REAL -> {
                number[i] = value.getAsJsonArray().get(0).getAsLong();
                hint[i] = value.getAsJsonArray().get(1).getAsInt();
            }
            case DataTypes.DATE, DataTypes.TIME -> {
                JsonArray list = value.getAsJsonArray();
                parts[i] = new int[list.size()];
                for (int k = 0; k < list.size(); k++) parts[i][k] = list.get(k).getAsInt();
            }
            case DataTypes.RMTES_STRING -> text[i] = buffer(value.getAsString());
            default -> throw new IllegalArgumentException("no value of type " + DataTypes.toString(type[i]));
        }
    }

    static int typeCode(String name) {
        return switch (name) {
            case "UINT" -> DataTypes.UINT;
            case "REAL" -> DataTypes.REAL;
            case "DATE" -> DataTypes.DATE;
            case "TIME" -> DataTypes.TIME;
            case "ENUM" -> DataTypes.ENUM;
            case "RMTES_STRING" -> DataTypes.RMTES_STRING;
            case "UINT_4" -> DataTypes.UINT_4;
            case "DATE_4" -> DataTypes.DATE_4;
            default -> throw new IllegalArgumentException("unknown type " + name);
        };
    }

    static Buffer buffer(String text) {
        return buffer(text.getBytes(StandardCharsets.US_ASCII));
    }

    static Buffer buffer(byte[] bytes) {
        Buffer buffer = CodecFactory.createBuffer();
        buffer.data(ByteBuffer.wrap(bytes));
        return buffer;
    }
}
