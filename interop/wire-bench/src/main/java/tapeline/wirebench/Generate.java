package tapeline.wirebench;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.StringJoiner;

/** {@code FILE}: writes the messages of the wire benchmark, encoded by ETA. */
public final class Generate {
    private static final int MARKET_PRICE = 6;
    private static final int MARKET_BY_ORDER = 7;
    private static final int QUOTE = 1;
    private static final int QUOTES_TRADE = 9;
    private static final int BOOK_ROWS = 50;
    private static final int REAL_EXPONENT_0 = 14;

    /** A change of both sides of the quote. */
    private static final String UPDATE_8 = """
        5 TIME 14:30
        22 REAL 184.27
        25 REAL 184.29
        30 REAL 3
        31 REAL 12
        115 ENUM 1
        118 ENUM 61
        3855 UINT 52201123
        """;

    /** A trade that moves the quote: prices ripple, totals grow, the parties are named. */
    private static final String UPDATE_30 = """
        6 REAL 184.285
        7 REAL 184.28
        8 REAL 184.28
        9 REAL 184.27
        10 REAL 184.275
        11 REAL -1.135
        13 REAL 183.91
        14 ENUM 1
        16 DATE 2024-11-15
        18 TIME 14:30:02
        22 REAL 184.28
        23 REAL 184.27
        25 REAL 184.29
        26 REAL 184.29
        30 REAL 5
        31 REAL 9
        32 REAL 23481277
        56 REAL -0.61
        77 REAL 204118
        100 REAL 4327733911.25
        115 ENUM 1
        118 ENUM 61
        131 ENUM 0
        162 RMTES_STRING NITE
        163 RMTES_STRING CDRG
        178 REAL 200
        344 RMTES_STRING -
        379 TIME 14:30:02.350
        1709 ENUM 158
        3855 UINT 52202350
        """;

    /** The image of an equity. A minus alone is a blank. */
    private static final String REFRESH_120 = """
        1 UINT 3056
        2 UINT 64
        3 RMTES_STRING EXAMPLE HOLDINGS
        4 ENUM 2
        5 TIME 14:30
        6 REAL 184.285
        7 REAL 184.28
        8 REAL 184.28
        9 REAL 184.27
        10 REAL 184.275
        11 REAL -1.135
        12 REAL 186.04
        13 REAL 183.91
        14 ENUM 1
        15 ENUM 840
        16 DATE 2024-11-15
        17 DATE 2024-11-15
        18 TIME 14:30:02
        19 REAL 185.5
        21 REAL 185.42
        22 REAL 184.28
        23 REAL 184.27
        24 REAL 184.26
        25 REAL 184.29
        26 REAL 184.29
        27 REAL 184.3
        28 RMTES_STRING XMPL
        29 TIME 13:05
        30 REAL 5
        31 REAL 9
        32 REAL 23481277
        34 REAL 6.43
        35 REAL 0.53
        36 REAL 28.66
        37 ENUM 3
        38 DATE 2024-12-12
        39 DATE 2024-11-08
        40 ENUM 0
        42 REAL 117
        43 REAL 3120400
        44 ENUM 43
        53 ENUM 2
        54 ENUM 1
        55 REAL 100
        56 REAL -0.61
        57 REAL 185.4
        58 TIME -
        59 REAL 185.56
        60 REAL 185.4
        61 REAL 185.43
        71 REAL 0.98
        75 REAL 203.96
        76 REAL 166.88
        77 REAL 204118
        78 RMTES_STRING 123456789
        79 DATE 2024-11-14
        80 REAL 23481277
        90 REAL 237.23
        91 REAL 164.08
        92 REAL 199.62
        93 REAL 124.17
        94 REAL 237.23
        95 REAL 0.0981
        98 REAL 192.53
        99 ENUM 0
        100 REAL 4327733911.25
        105 RMTES_STRING -
        110 ENUM 0
        111 ENUM 0
        114 REAL -1.12
        115 ENUM 1
        117 ENUM 0
        118 ENUM 61
        119 ENUM 0
        120 REAL -
        131 ENUM 0
        133 ENUM 1
        134 REAL 184.285
        135 REAL -1.13
        136 REAL 185.415
        162 RMTES_STRING NITE
        163 RMTES_STRING CDRG
        178 REAL 200
        183 REAL 31
        184 REAL 28
        196 ENUM 0
        197 ENUM 0
        198 REAL 100
        199 ENUM 43
        200 ENUM 43
        201 DATE 2024-10-15
        202 DATE 1997-07-03
        203 REAL 186.03
        204 REAL 183.9
        343 RMTES_STRING -
        344 RMTES_STRING T
        345 RMTES_STRING R
        346 RMTES_STRING R
        350 DATE 2024-10-15
        351 DATE 2024-04-19
        354 REAL 48.17
        372 REAL 184.3051
        373 REAL 1200
        374 ENUM 151
        375 TIME 14:29:58.114
        376 REAL -
        377 REAL -
        378 ENUM -
        379 TIME 14:30:02.350
        383 REAL 44923941
        393 REAL 184.28
        394 REAL 184.29
        395 REAL 184.27
        396 REAL 184.28
        436 REAL 184.28
        437 REAL 184.27
        441 REAL 184.29
        442 REAL 184.3
        1709 ENUM 158
        3855 UINT 52202350
        """;

    private static final String BOOK_SUMMARY = """
        15 ENUM 840
        53 ENUM 2
        133 ENUM 1
        1709 ENUM 158
        """;

    private static final String BOOK_SET = """
        3427 REAL
        3428 ENUM
        3429 REAL
        3435 RMTES_STRING
        3855 UINT_4
        17 DATE_4
        """;

    public static void main(String[] args) throws IOException {
        StringJoiner lines = new StringJoiner("\n", "", "\n");
        lines.add(line("update_8", update(QUOTE, 40_771, false), fieldList(UPDATE_8)));
        lines.add(line("update_8_key", update(QUOTE, 40_771, true), fieldList(UPDATE_8)));
        lines.add(line("update_30", update(QUOTES_TRADE, 40_772, false), fieldList(UPDATE_30)));
        JsonObject image = fieldList(REFRESH_120);
        image.add("info", list(1, 78));
        lines.add(line("refresh_120", refresh(MARKET_PRICE), image));
        lines.add(line("book_50", refresh(MARKET_BY_ORDER), book(false)));
        lines.add(line("book_50_set", refresh(MARKET_BY_ORDER), book(true)));
        Files.writeString(Path.of(args[0]), lines.toString());
    }

    /** Encodes the message with ETA and completes its line with the bytes and the sums. */
    private static String line(String name, JsonObject header, JsonObject payload) {
        JsonObject json = new JsonObject();
        json.addProperty("name", name);
        json.add("header", header);
        json.add("payload", payload);
        Message message = new Message(json);
        ByteBuffer output = ByteBuffer.allocate(65_536);
        int length = new Encoder().message(message, output);
        ByteBuffer bytes = ByteBuffer.wrap(Arrays.copyOf(output.array(), length));
        Decoder decoder = new Decoder();
        decoder.learn(message);

        JsonObject line = new JsonObject();
        line.addProperty("name", name);
        line.addProperty("hex", HexFormat.of().formatHex(bytes.array()));
        line.addProperty("header_checksum", decoder.header(bytes));
        line.addProperty("checksum", decoder.message(bytes));
        line.add("header", header);
        line.add("payload", payload);
        Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
        return gson.toJson(line);
    }

    private static JsonObject update(int updateType, long seqNum, boolean key) {
        JsonObject header = new JsonObject();
        header.addProperty("class", "UPDATE");
        header.addProperty("domain", MARKET_PRICE);
        header.addProperty("stream_id", 4711);
        header.addProperty("update_type", updateType);
        header.addProperty("seq_num", seqNum);
        if (key) header.add("key", key());
        return header;
    }

    private static JsonObject refresh(int domain) {
        JsonObject header = new JsonObject();
        header.addProperty("class", "REFRESH");
        header.addProperty("domain", domain);
        header.addProperty("stream_id", 4711);
        header.addProperty("seq_num", 40_770);
        header.addProperty("state_text", "All is well");
        header.addProperty("group_id", "00010001");
        header.addProperty("perm_data", "030105623c");
        header.add("key", key());
        return header;
    }

    private static JsonObject key() {
        JsonObject key = new JsonObject();
        key.addProperty("service_id", 257);
        key.addProperty("name", "XMPL.N");
        key.addProperty("name_type", 1);
        return key;
    }

    private static JsonObject fieldList(String table) {
        JsonObject payload = new JsonObject();
        payload.addProperty("type", "FIELD_LIST");
        payload.add("fields", fields(table));
        return payload;
    }

    /** 25 bids below 25 offers, best first; every second order has no date of its own. */
    private static JsonObject book(boolean set) {
        JsonObject payload = new JsonObject();
        payload.addProperty("type", "MAP");
        payload.addProperty("key_field_id", 3426);
        if (set) payload.add("set_definition", setDefinition());
        payload.add("summary", fields(BOOK_SUMMARY));
        String[] makers = {"NITE", "CDRG", "ETMM", "GSCO", "JPMS", "MLCO", "SUFI"};
        JsonArray rows = new JsonArray();
        for (int i = 0; i < BOOK_ROWS; i++) {
            boolean bid = i % 2 == 0;
            int level = i / 2;
            int cents = bid ? 18_428 - level : 18_429 + level;
            int size = 100 * (1 + i * 7 % 23) + (i % 5 == 0 ? 37 : 0);
            int timeMs = 52_202_350 - 1_931 * (i * 13 % BOOK_ROWS);
            StringBuilder table = new StringBuilder();
            table.append("3427 REAL ").append(BigDecimal.valueOf(cents, 2)).append('\n');
            table.append("3428 ENUM ").append(bid ? 1 : 2).append('\n');
            table.append("3429 REAL ").append(size).append('\n');
            table.append("3435 RMTES_STRING ").append(makers[i % makers.length]).append('\n');
            table.append("3855 UINT ").append(timeMs).append('\n');
            boolean dated = i % 4 < 2;
            if (dated) table.append("17 DATE 2024-11-15\n");
            else if (set) table.append("17 DATE -\n");
            JsonArray row = new JsonArray();
            row.add("83415" + (20_700 + 37 * i) + (bid ? "B" : "S"));
            row.add(fields(table.toString()));
            rows.add(row);
        }
        payload.add("rows", rows);
        return payload;
    }

    private static JsonArray setDefinition() {
        JsonArray definition = new JsonArray();
        BOOK_SET.lines().map(line -> line.split(" ")).forEach(word -> {
            JsonArray entry = new JsonArray();
            entry.add(Integer.parseInt(word[0]));
            entry.add(word[1]);
            definition.add(entry);
        });
        return definition;
    }

    /** Lines of {@code id TYPE value} to {@code [[id, "TYPE", value], ...]}. */
    private static JsonArray fields(String table) {
        JsonArray fields = new JsonArray();
        table.lines().map(line -> line.split(" ", 3)).forEach(word -> {
            JsonArray field = new JsonArray();
            field.add(Integer.parseInt(word[0]));
            field.add(word[1]);
            switch (word[2].equals("-") ? "blank" : word[1]) {
                case "blank" -> field.add(JsonNull.INSTANCE);
                case "REAL" -> {
                    BigDecimal value = new BigDecimal(word[2]);
                    JsonArray real = new JsonArray();
                    real.add(value.unscaledValue());
                    real.add(REAL_EXPONENT_0 - value.scale());
                    field.add(real);
                }
                case "DATE" -> {
                    int[] part = Arrays.stream(word[2].split("-")).mapToInt(Integer::parseInt).toArray();
                    field.add(list(part[2], part[1], part[0]));
                }
                case "TIME" -> {
                    int[] part = Arrays.stream(word[2].split("[:.]")).mapToInt(Integer::parseInt).toArray();
                    JsonArray time = list(Arrays.copyOf(part, 6));
                    field.add(time);
                }
                case "RMTES_STRING" -> field.add(word[2]);
                default -> field.add(new JsonPrimitive(Long.parseLong(word[2])));
            }
            fields.add(field);
        });
        return fields;
    }

    private static JsonArray list(int... numbers) {
        JsonArray list = new JsonArray();
        for (int number : numbers) list.add(number);
        return list;
    }
}
