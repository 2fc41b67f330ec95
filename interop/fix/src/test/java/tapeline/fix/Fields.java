package tapeline.fix;

import java.math.BigDecimal;
import quickfix.FieldNotFound;
import quickfix.Message;

/** Reads fields of messages. */
final class Fields {
    private Fields() {}

    static String type(Message message) {
        try {
            return message.getHeader().getString(35);
        } catch (FieldNotFound e) {
            throw new AssertionError("a message without a type: " + message, e);
        }
    }

    /** A field of the header, or nothing. */
    static String ofHeader(Message message, int tag) {
        return message.getHeader().getOptionalString(tag).orElse("");
    }

    /** A field, or nothing. */
    static String of(Message message, int tag) {
        return message.getOptionalString(tag).orElse("");
    }

    static boolean is(Message message, String type, int tag, String value) {
        return type(message).equals(type) && of(message, tag).equals(value);
    }

    static long number(Message message, int tag) {
        try {
            return new BigDecimal(of(message, tag)).longValueExact();
        } catch (ArithmeticException | NumberFormatException e) {
            throw new AssertionError("tag " + tag + " is no whole number in " + readable(message), e);
        }
    }

    /** Prices are equal by value: 10.5 is 10.50. */
    static boolean isPrice(Message message, int tag, String price) {
        String text = of(message, tag);
        return !text.isEmpty() && new BigDecimal(text).compareTo(new BigDecimal(price)) == 0;
    }

    static String readable(Object message) {
        return message.toString().replace('\u0001', '|');
    }
}
