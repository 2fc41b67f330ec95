package tapeline.engine;

import com.github.luben.zstd.ZstdInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** A flow of orders of one symbol: a header of 16 bytes, the number of records its last four, and records of 40. */
final class Flow {
    static final byte NEW = 0;
    static final byte CANCEL = 1;
    static final byte MODIFY = 2;

    private static final int HEADER_BYTES = 16;
    private static final int RECORD_BYTES = 40;

    final int count;
    final byte[] kind;
    final byte[] side;
    final boolean[] isImmediate;
    final int[] quantity;
    final long[] sequence;
    final long[] id;
    final long[] price;

    private Flow(ByteBuffer bytes) {
        count = bytes.getInt(12);
        kind = new byte[count];
        side = new byte[count];
        isImmediate = new boolean[count];
        quantity = new int[count];
        sequence = new long[count];
        id = new long[count];
        price = new long[count];
        for (int i = 0; i < count; i++) {
            int at = HEADER_BYTES + i * RECORD_BYTES;
            kind[i] = bytes.get(at);
            side[i] = bytes.get(at + 1);
            isImmediate[i] = bytes.get(at + 2) != 0;
            quantity[i] = bytes.getInt(at + 4);
            sequence[i] = bytes.getLong(at + 8);
            id[i] = bytes.getLong(at + 16);
            price[i] = bytes.getLong(at + 24);
        }
    }

    static Flow of(Path file) throws IOException {
        try (InputStream raw = Files.newInputStream(file)) {
            InputStream input = file.toString().endsWith(".zst") ? new ZstdInputStream(raw) : raw;
            return new Flow(ByteBuffer.wrap(input.readAllBytes()).order(ByteOrder.LITTLE_ENDIAN));
        }
    }
}
