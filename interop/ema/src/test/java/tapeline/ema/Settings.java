package tapeline.ema;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.Map;
import com.refinitiv.ema.access.MapEntry;
import com.refinitiv.ema.access.OmmArray;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * EMA's configuration, given in code.
 *
 * <p>Its form is a map of groups; a group is an element list with the name of the default and a map
 * of named element lists. Numbers must be INT, but for some switches that are UINT, and the list must
 * come before the default: for some groups EMA reads the first element only.
 */
final class Settings {
    enum Compression {
        NONE("None"),
        ZLIB("ZLib"),
        LZ4("LZ4");

        private final String name;

        Compression(String name) {
            this.name = name;
        }

        String ema() {
            return "CompressionType::" + name;
        }
    }

    /**
     * Output buffers of each connection. One that runs out of them, on a busy machine, may stay so for
     * ever: what it has left to write is not written although the socket takes it, and it sends not even
     * pings. Tests have fewer messages on their way.
     */
    static final int OUTPUT_BUFFERS = 6_000;

    private final Map root = EmaFactory.createMap();

    Map map() {
        return root;
    }

    /** A group with one entry, which is its default. */
    Settings one(String group, String name, ElementList entry) {
        java.util.Map<String, ElementList> entries = new LinkedHashMap<>();
        entries.put(name, entry);
        return group(group, name, entries);
    }

    /** A group with several entries. */
    Settings group(String group, String byDefault, java.util.Map<String, ElementList> entries) {
        Map list = EmaFactory.createMap();
        entries.forEach((name, entry) ->
                list.add(EmaFactory.createMapEntry().keyAscii(name, MapEntry.MapAction.ADD, entry)));
        root.add(EmaFactory.createMapEntry().keyAscii(
                group + "Group",
                MapEntry.MapAction.ADD,
                elements(group + "List", list, "Default" + group, byDefault)));
        return this;
    }

    /** The one service that a provider offers. */
    Settings service(String directory, String service, ElementList filters) {
        Map services = EmaFactory.createMap();
        services.add(EmaFactory.createMapEntry().keyAscii(service, MapEntry.MapAction.ADD, filters));
        Map list = EmaFactory.createMap();
        list.add(EmaFactory.createMapEntry().keyAscii(directory, MapEntry.MapAction.ADD, services));
        root.add(EmaFactory.createMapEntry().keyAscii(
                "DirectoryGroup",
                MapEntry.MapAction.ADD,
                elements("DefaultDirectory", directory, "DirectoryList", list)));
        return this;
    }

    /** Names and values in turns. */
    static ElementList elements(Object... namesAndValues) {
        ElementList list = EmaFactory.createElementList();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            add(list, (String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return list;
    }

    static void add(ElementList list, String name, Object value) {
        if (value instanceof String text) {
            list.add(EmaFactory.createElementEntry().ascii(name, text));
        } else if (value instanceof Integer number) {
            list.add(EmaFactory.createElementEntry().intValue(name, number));
        } else if (value instanceof Value.UInt number) {
            list.add(EmaFactory.createElementEntry().uintValue(name, number.value()));
        } else if (value instanceof Value.Enum word) {
            list.add(EmaFactory.createElementEntry().enumValue(name, word.value()));
        } else if (value instanceof ElementList elements) {
            list.add(EmaFactory.createElementEntry().elementList(name, elements));
        } else if (value instanceof Map map) {
            list.add(EmaFactory.createElementEntry().map(name, map));
        } else if (value instanceof List<?> names) {
            OmmArray array = EmaFactory.createOmmArray();
            names.forEach(each -> array.add(EmaFactory.createOmmArrayEntry().ascii((String) each)));
            list.add(EmaFactory.createElementEntry().array(name, array));
        } else {
            throw new IllegalArgumentException(name + " = " + value);
        }
    }

    /**
     * What consumers and providers have in common.
     *
     * <p>A turn of EMA's dispatcher ends after so many messages, 100 by default, and the next one begins
     * when the socket has bytes: what was read with the last ones stays where it is until the peer
     * happens to send more. The environment variable EMA_TRACE puts the SDK's own trace of every message
     * into the test's output.
     */
    static void common(ElementList list) {
        add(list, "MaxDispatchCountApiThread", 1_000_000);
        if (System.getenv("EMA_TRACE") != null) {
            add(list, "XmlTraceToStdout", 1);
        }
    }
}
