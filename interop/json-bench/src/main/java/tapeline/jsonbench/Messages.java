package tapeline.jsonbench;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/** The lines of the messages file: a text, and its RWF as the vendor's converter makes it. */
record Messages(String json, byte[] rwf) {
    static Map<String, Messages> load(Path file) throws IOException {
        Map<String, Messages> messages = new LinkedHashMap<>();
        for (String line : Files.readAllLines(file)) {
            JsonObject object = JsonParser.parseString(line).getAsJsonObject();
            byte[] rwf = object.has("rwf") ? HexFormat.of().parseHex(object.get("rwf").getAsString()) : null;
            messages.put(object.get("name").getAsString(), new Messages(object.get("json").getAsString(), rwf));
        }
        return messages;
    }
}
