package tapeline.jsonbench;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/** {@code DICTIONARIES MESSAGES}: writes the RWF of each text into the messages file. */
public final class Generate {
    private Generate() { }

    public static void main(String[] args) throws IOException {
        Converter converter = new Converter(Path.of(args[0]));
        Path file = Path.of(args[1]);
        Gson gson = new GsonBuilder().disableHtmlEscaping().create();
        StringBuilder lines = new StringBuilder();
        for (Map.Entry<String, Messages> message : Messages.load(file).entrySet()) {
            byte[] rwf = Converter.bytes(converter.toRwf(converter.frame(message.getValue().json())));
            Map<String, String> line = new LinkedHashMap<>();
            line.put("name", message.getKey());
            line.put("json", message.getValue().json());
            line.put("rwf", HexFormat.of().formatHex(rwf));
            lines.append(gson.toJson(line)).append('\n');
        }
        Files.writeString(file, lines);
    }
}
