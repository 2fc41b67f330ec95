package tapeline.ema;

import com.refinitiv.ema.access.OmmReal.MagnitudeType;

/**
 * Values with the zeros at the end of their decimals cut off: 101.50 is 101.5.
 *
 * <p>EMA's JSON converter takes every number through a double, so that is what it leaves of a price. The text on the
 * wire has the zero.
 */
final class Trimmed {
    private Trimmed() {}

    static Value of(Value value) {
        if (value instanceof Value.Real real) {
            return real(real);
        }
        if (value instanceof Value.Fields fields) {
            return new Value.Fields(fields.fields().stream()
                    .map(field -> new Value.Field(field.id(), of(field.value())))
                    .toList());
        }
        if (value instanceof Value.Rows rows) {
            return new Value.Rows(rows.type(), of(rows.summary()), rows.rows().stream()
                    .map(row -> new Value.Row(row.key(), row.action(), of(row.load())))
                    .toList());
        }
        if (value instanceof Value.Message message) {
            return new Value.Message(message.type(), of(message.payload()));
        }
        return value;
    }

    private static Value.Real real(Value.Real real) {
        long mantissa = real.mantissa();
        int magnitude = real.magnitude();
        if (magnitude == MagnitudeType.DIVISOR_256) {
            // The one fraction of the samples; in JSON there are decimals alone.
            mantissa *= 390_625;
            magnitude = MagnitudeType.EXPONENT_NEG_8;
        }
        while (magnitude < MagnitudeType.EXPONENT_0 && mantissa % 10 == 0) {
            mantissa /= 10;
            magnitude += 1;
        }
        return new Value.Real(mantissa, magnitude);
    }
}
