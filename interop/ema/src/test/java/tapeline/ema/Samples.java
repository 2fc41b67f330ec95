package tapeline.ema;

import static tapeline.ema.Value.field;
import static tapeline.ema.Value.fields;

import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.FilterEntry.FilterAction;
import com.refinitiv.ema.access.MapEntry.MapAction;
import com.refinitiv.ema.access.OmmQos;
import com.refinitiv.ema.access.OmmReal.MagnitudeType;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.VectorEntry.VectorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** What the sources of these tests publish. Fields below 0 are the test fields of the built-in dictionary. */
final class Samples {
    static final int PROD_PERM = 1;
    static final int RDNDISPLAY = 2;
    static final int DSPLY_NAME = 3;
    static final int TRDPRC_1 = 6;
    static final int PRCTCK_1 = 14;
    static final int CURRENCY = 15;
    static final int TRADE_DATE = 16;
    static final int TRDTIM_1 = 18;
    static final int BID = 22;
    static final int ASK = 25;
    static final int BIDSIZE = 30;
    static final int ASKSIZE = 31;
    static final int PROV_SYMB = 3422;
    static final int ORDER_PRC = 3427;
    static final int ORDER_SIDE = 3428;
    static final int ORDER_SIZE = 3429;

    private Samples() {}

    /** A price with two decimals. */
    static Value.Real price(long cents) {
        return new Value.Real(cents, MagnitudeType.EXPONENT_NEG_2);
    }

    static Value.Real count(long n) {
        return new Value.Real(n, MagnitudeType.EXPONENT_0);
    }

    /** The image of an item; every name has its own prices. */
    static Value.Fields quote(String name) {
        long base = 1_000 + Math.floorMod(name.hashCode(), 1_000_000);
        return fields(
                field(PROD_PERM, new Value.UInt(3056)),
                field(RDNDISPLAY, new Value.UInt(64)),
                field(DSPLY_NAME, new Value.Rmtes(name.substring(0, Math.min(16, name.length())))),
                field(CURRENCY, new Value.Enum(840)),
                field(TRADE_DATE, new Value.Date(2025, 1, 15)),
                field(TRDTIM_1, new Value.Time(14, 30, 15, 0, 0, 0)),
                field(BID, price(base)),
                field(ASK, price(base + 2)),
                field(BIDSIZE, count(base % 97)),
                field(ASKSIZE, new Value.Blank(DataTypes.REAL)));
    }

    /** An update of which the number can be told. */
    static Value.Fields tick(long n) {
        return fields(field(BID, price(100_000 + n)), field(ASK, price(100_003 + n)), field(BIDSIZE, count(n)));
    }

    /** An image with a field of every type there is. */
    static Value.Fields everyType() {
        Value.Fields inner = fields(field(BID, price(4512)), field(-2, new Value.UInt(7)));
        Value.Elements elements = new Value.Elements(List.of(
                new Value.Element("Name", new Value.Ascii("value")), new Value.Element("Count", new Value.UInt(3))));
        return fields(
                field(-1, new Value.Int(-9_000_000_000L)),
                field(-2, new Value.UInt(18_000_000_000L)),
                field(-3, new Value.Float32(-1.25e-3f)),
                field(-4, new Value.Float64(1.0 / 3.0)),
                field(-5, new Value.Real(-123_456_789_012L, MagnitudeType.EXPONENT_NEG_14)),
                field(-6, new Value.Date(2024, 2, 29)),
                field(-7, new Value.Time(23, 59, 58, 997, 996, 995)),
                field(-8, new Value.DateTime(new Value.Date(1999, 12, 31), new Value.Time(1, 2, 3, 4, 5, 6))),
                field(-9, new Value.Qos(OmmQos.Timeliness.REALTIME, OmmQos.Rate.JUST_IN_TIME_CONFLATED)),
                field(-10, new Value.State(StreamState.OPEN, DataState.SUSPECT, StatusCode.NO_RESOURCES, "no line")),
                field(-11, new Value.Enum(840)),
                field(-12, new Value.Array(List.of(new Value.UInt(1), new Value.UInt(70_000), new Value.UInt(3)))),
                field(-13, new Value.Buffer("00ff10fe7f80")),
                field(-14, new Value.Ascii("plain text")),
                field(-15, new Value.Utf8("Grüße, 東京")),
                field(-16, new Value.Rmtes("RMTES TEXT")),
                field(-20, inner),
                field(-21, elements),
                field(-22, new Value.Rows(DataTypes.FILTER_LIST, new Value.None(), List.of(
                        new Value.Row(new Value.UInt(2), FilterAction.SET, elements)))),
                field(-23, new Value.Rows(DataTypes.VECTOR, new Value.None(), List.of(
                        new Value.Row(new Value.UInt(0), VectorAction.SET, inner),
                        new Value.Row(new Value.UInt(1), VectorAction.SET, inner)))),
                field(-24, new Value.Rows(DataTypes.MAP, new Value.None(), List.of(
                        new Value.Row(new Value.Ascii("first"), MapAction.ADD, inner),
                        new Value.Row(new Value.Ascii("second"), MapAction.ADD, inner)))),
                field(-25, new Value.Rows(DataTypes.SERIES, new Value.None(), List.of(
                        new Value.Row(null, 0, inner), new Value.Row(null, 0, inner)))),
                field(-26, new Value.Opaque("deadbeef00")),
                field(-27, new Value.Xml("<a b=\"c\"/>")),
                field(-28, new Value.AnsiPage("1b5b324a41")),
                field(-29, new Value.Message(DataTypes.UPDATE_MSG, inner)),
                field(Short.MIN_VALUE, new Value.UInt(1)),
                field(Short.MAX_VALUE, new Value.UInt(2)),
                field(TRDPRC_1, new Value.Blank(DataTypes.REAL)),
                field(ASK, new Value.Real(0, MagnitudeType.INFINITY)),
                field(BID, new Value.Real(5, MagnitudeType.DIVISOR_256)));
    }

    /** An order book as a map, larger than many fragments when there are enough orders. */
    static Value.Rows book(int orders) {
        List<Value.Row> rows = new ArrayList<>();
        for (int i = 0; i < orders; i++) {
            rows.add(order(i, MapAction.ADD, 100L * (i + 1)));
        }
        Value.Fields summary = fields(field(CURRENCY, new Value.Enum(978)));
        return new Value.Rows(DataTypes.MAP, summary, rows);
    }

    /** A list of names. */
    static Value.Rows symbols(int count) {
        List<Value.Row> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Value.Fields entry = fields(field(PROV_SYMB, new Value.Rmtes("SYM" + i)));
            rows.add(new Value.Row(new Value.Ascii("SYMBOL" + i + ".N"), MapAction.ADD, entry));
        }
        return new Value.Rows(DataTypes.MAP, new Value.None(), rows);
    }

    /** Changes of single orders: one changed, one gone, one new. */
    static Value.Rows bookChange(int changed, int gone, int added) {
        return new Value.Rows(DataTypes.MAP, new Value.None(), List.of(
                order(changed, MapAction.UPDATE, 7),
                new Value.Row(orderId(gone), MapAction.DELETE, new Value.None()),
                order(added, MapAction.ADD, 11)));
    }

    private static Value.Row order(int i, int action, long size) {
        Value.Fields order = fields(
                field(ORDER_PRC, price(4500 + i % 40)),
                field(ORDER_SIDE, new Value.Enum(1 + i % 2)),
                field(ORDER_SIZE, count(size)));
        return new Value.Row(orderId(i), action, order);
    }

    static Value.Buffer orderId(int i) {
        byte[] id = ("ORDER" + (100_000 + i)).getBytes(StandardCharsets.US_ASCII);
        return new Value.Buffer(HexFormat.of().formatHex(id));
    }

    /** Only these fields, as a view leaves them. */
    static Value.Fields only(Value.Fields all, int... ids) {
        return new Value.Fields(all.fields().stream()
                .filter(each -> java.util.Arrays.stream(ids).anyMatch(id -> id == each.id()))
                .toList());
    }
}
