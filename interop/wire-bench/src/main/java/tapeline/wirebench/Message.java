package tapeline.wirebench;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.FieldSetDefEntry;
import com.refinitiv.eta.codec.LocalFieldSetDefDb;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/** One line of the messages file: the bytes, their checksums, and the values to encode them from. */
final class Message {
    /** A book row: the order id and its fields. */
    record Row(Buffer key, Fields fields) { }

    final String name;
    /** Empty while the message is being made. */
    final byte[] bytes;
    final long checksum;
    final long headerChecksum;

    final boolean refresh;
    final int domain;
    final int streamId;
    final int updateType;
    final long seqNum;
    /** Null without a key. */
    final Buffer keyName;
    final int serviceId;
    final int nameType;
    final Buffer stateText;
    final Buffer groupId;
    final Buffer permData;

    /** The fields of a field list payload; null when the payload is a map. */
    final Fields fields;
    final int dictionaryId;
    final int fieldListNum;

    final int keyFieldId;
    final Fields summary;
    final Row[] rows;
    /** Null when the rows are standard data. */
    final LocalFieldSetDefDb setDefinition;

    static Map<String, Message> load(Path file) throws IOException {
        Map<String, Message> messages = new LinkedHashMap<>();
        for (String line : Files.readAllLines(file)) {
            if (line.isBlank()) continue;
            Message message = new Message(JsonParser.parseString(line).getAsJsonObject());
            messages.put(message.name, message);
        }
        return messages;
    }

    Message(JsonObject json) {
        name = json.get("name").getAsString();
        bytes = json.has("hex") ? HexFormat.of().parseHex(json.get("hex").getAsString()) : new byte[0];
        checksum = json.has("checksum") ? json.get("checksum").getAsLong() : 0;
        headerChecksum = json.has("header_checksum") ? json.get("header_checksum").getAsLong() : 0;

        JsonObject header = json.getAsJsonObject("header");
        refresh = header.get("class").getAsString().equals("REFRESH");
        domain = header.get("domain").getAsInt();
        streamId = header.get("stream_id").getAsInt();
        updateType = refresh ? 0 : header.get("update_type").getAsInt();
        seqNum = header.get("seq_num").getAsLong();
        JsonObject key = header.getAsJsonObject("key");
        keyName = key == null ? null : Fields.buffer(key.get("name").getAsString());
        serviceId = key == null ? 0 : key.get("service_id").getAsInt();
        nameType = key == null ? 0 : key.get("name_type").getAsInt();
        stateText = refresh ? Fields.buffer(header.get("state_text").getAsString()) : null;
        groupId = refresh ? hexBuffer(header.get("group_id")) : null;
        permData = refresh ? hexBuffer(header.get("perm_data")) : null;

        JsonObject payload = json.getAsJsonObject("payload");
        if (payload.get("type").getAsString().equals("FIELD_LIST")) {
            fields = new Fields(payload.getAsJsonArray("fields"));
            JsonArray info = payload.getAsJsonArray("info");
            dictionaryId = info == null ? 0 : info.get(0).getAsInt();
            fieldListNum = info == null ? 0 : info.get(1).getAsInt();
            keyFieldId = 0;
            summary = null;
            rows = null;
            setDefinition = null;
            return;
        }
        fields = null;
        dictionaryId = 0;
        fieldListNum = 0;
        keyFieldId = payload.get("key_field_id").getAsInt();
        summary = new Fields(payload.getAsJsonArray("summary"));
        JsonArray list = payload.getAsJsonArray("rows");
        rows = new Row[list.size()];
        for (int i = 0; i < rows.length; i++) {
            JsonArray row = list.get(i).getAsJsonArray();
            rows[i] = new Row(Fields.buffer(row.get(0).getAsString()), new Fields(row.get(1).getAsJsonArray()));
        }
        setDefinition = payload.has("set_definition") ? setDefinition(payload.getAsJsonArray("set_definition")) : null;
    }

    private static Buffer hexBuffer(JsonElement hex) {
        return Fields.buffer(HexFormat.of().parseHex(hex.getAsString()));
    }

    /** Reads {@code [[id, "TYPE"], ...]} into local definition 0. */
    private static LocalFieldSetDefDb setDefinition(JsonArray json) {
        FieldSetDefEntry[] entries = new FieldSetDefEntry[json.size()];
        for (int i = 0; i < entries.length; i++) {
            JsonArray entry = json.get(i).getAsJsonArray();
            entries[i] = CodecFactory.createFieldSetDefEntry();
            entries[i].fieldId(entry.get(0).getAsInt());
            entries[i].dataType(Fields.typeCode(entry.get(1).getAsString()));
        }
        LocalFieldSetDefDb definitions = CodecFactory.createLocalFieldSetDefDb();
        definitions.clear();
        definitions.definitions()[0].setId(0);
        definitions.definitions()[0].count(entries.length);
        definitions.definitions()[0].entries(entries);
        return definitions;
    }

    int containerType() {
        return fields == null ? DataTypes.MAP : DataTypes.FIELD_LIST;
    }
}
