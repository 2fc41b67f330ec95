import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import mdp.MessageHeaderEncoder;
import mdp.MetaAttribute;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Writes the messages of values.txt with the encoders that the reference SBE tool made of schema.xml, as lines of
 * name and bytes. What an optional field is not given is null; reserved bytes are 0.
 */
final class Golden {
    /** Bytes before the head of SBE: those of the packet, and the size of the message. */
    private static final int HEAD_BYTES = 14;

    private static final long SENDING_TIME_NS = 1_659_367_870_041_719_045L;

    private record Group(String name, List<Map<String, String>> entries) {}

    private record Message(String name, Map<String, String> fields, List<Group> groups) {}

    public static void main(String[] arguments) throws Exception {
        int sequence = 1;
        for (Message message : read(Path.of(arguments[0]))) {
            System.out.println(message.name + " " + encode(message, sequence));
            sequence++;
        }
    }

    private static List<Message> read(Path path) throws Exception {
        List<Message> messages = new ArrayList<>();
        Map<String, String> fields = null;
        for (String line : Files.readAllLines(path)) {
            String[] words = line.strip().split(" ", 2);
            String value = words.length == 2 ? words[1] : "";
            switch (words[0]) {
                case "", "#" -> {}
                case "message" -> {
                    fields = new LinkedHashMap<>();
                    messages.add(new Message(value, fields, new ArrayList<>()));
                }
                case "group" -> last(messages).groups.add(new Group(value, new ArrayList<>()));
                case "entry" -> {
                    fields = new LinkedHashMap<>();
                    last(last(messages).groups).entries.add(fields);
                }
                default -> fields.put(words[0], value);
            }
        }
        return messages;
    }

    private static String encode(Message message, int sequence) throws Exception {
        UnsafeBuffer buffer = new UnsafeBuffer(new byte[2048]);
        Object encoder = Class.forName("mdp." + message.name + "Encoder").getConstructor().newInstance();
        method(encoder, "wrapAndApplyHeader", MutableDirectBuffer.class, int.class, MessageHeaderEncoder.class)
                .invoke(encoder, buffer, HEAD_BYTES, new MessageHeaderEncoder());
        fill(encoder, message.fields);
        for (Group group : message.groups) {
            String count = lower(group.name) + "Count";
            Object entries = method(encoder, count, int.class).invoke(encoder, group.entries.size());
            for (Map<String, String> entry : group.entries) {
                method(entries, "next").invoke(entries);
                fill(entries, entry);
            }
        }
        int end = (int) method(encoder, "limit").invoke(encoder);
        buffer.putInt(0, sequence);
        buffer.putLong(4, SENDING_TIME_NS);
        buffer.putShort(HEAD_BYTES - 2, (short) (end - HEAD_BYTES + 2));
        byte[] bytes = new byte[end];
        buffer.getBytes(0, bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static void fill(Object encoder, Map<String, String> values) throws Exception {
        Map<String, String> left = new LinkedHashMap<>(values);
        for (Method method : encoder.getClass().getMethods()) {
            if (method.getName().endsWith("MetaAttribute")) {
                String field = method.getName().replace("MetaAttribute", "");
                String name = Character.toUpperCase(field.charAt(0)) + field.substring(1);
                boolean isOptional = method.invoke(null, MetaAttribute.PRESENCE).equals("optional");
                set(encoder, field, left.remove(name), isOptional);
            }
        }
        if (!left.isEmpty()) {
            throw new IllegalArgumentException("no such fields: " + left.keySet());
        }
    }

    private static void set(Object encoder, String field, String value, boolean isOptional) throws Exception {
        for (Method method : encoder.getClass().getMethods()) {
            if (!method.getName().equals(field)) {
                continue;
            }
            if (method.getParameterCount() == 0 && method.getReturnType().getSimpleName().endsWith("Encoder")) {
                composite(method.invoke(encoder), value);
                return;
            }
            Class<?> type = method.getParameterCount() == 1 ? method.getParameterTypes()[0] : null;
            if (type == String.class && value != null) {
                method.invoke(encoder, value);
                return;
            }
            if (type != null && type.isPrimitive()) {
                if (value != null) {
                    method.invoke(encoder, number(type, value));
                } else if (isOptional) {
                    method.invoke(encoder, method(encoder, field + "NullValue").invoke(null));
                }
                return;
            }
        }
    }

    private static void composite(Object composite, String value) throws Exception {
        if (composite.getClass().getSimpleName().equals("MonthYearEncoder")) {
            String[] parts = (value == null ? "" : value).split("/", -1);
            String[] names = {"year", "month", "day", "week"};
            for (int at = 0; at < names.length; at++) {
                String part = at < parts.length && !parts[at].isEmpty() ? parts[at] : null;
                set(composite, names[at], part, true);
            }
        } else if (value != null) {
            method(composite, "mantissa", long.class).invoke(composite, Long.parseLong(value));
        } else if (composite.getClass().getSimpleName().equals("Price9nullEncoder")) {
            long none = (long) method(composite, "mantissaNullValue").invoke(null);
            method(composite, "mantissa", long.class).invoke(composite, none);
        }
    }

    private static Object number(Class<?> type, String value) {
        if (value.startsWith("'")) {
            return (byte) value.charAt(1);
        }
        long number = value.startsWith("-") ? Long.parseLong(value) : Long.parseUnsignedLong(value);
        return switch (type.getSimpleName()) {
            case "byte" -> (byte) number;
            case "short" -> (short) number;
            case "int" -> (int) number;
            default -> number;
        };
    }

    private static Method method(Object of, String name, Class<?>... types) throws Exception {
        return of.getClass().getMethod(name, types);
    }

    private static <T> T last(List<T> list) {
        return list.get(list.size() - 1);
    }

    private static String lower(String name) {
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }
}
