package tapeline.peers;

import com.refinitiv.eta.transport.Channel;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.transport.TransportReturnCodes;
import com.refinitiv.eta.transport.WriteArgs;
import com.refinitiv.eta.transport.WriteFlags;
import java.nio.ByteBuffer;

/** A consumer's connection: its updates are packed, and written at once with the last of a turn. */
final class Client {
    /** As large as a frame may be. */
    private static final int PACKED_BYTES = 6_000;

    final Channel channel;
    private final Error error;
    private final WriteArgs args = TransportFactory.createWriteArgs();
    private TransportBuffer packed;
    private int left;
    private boolean isPending;
    boolean isListed;

    Client(Channel channel, Error error) {
        this.channel = channel;
        this.error = error;
        args.flags(WriteFlags.DIRECT_SOCKET_WRITE);
    }

    /** Adds a copy of an encoded message for a stream. */
    void add(byte[] bytes, int length, int stream) {
        if (packed == null) {
            packed = buffer(PACKED_BYTES);
            left = PACKED_BYTES;
        }
        ByteBuffer data = packed.data();
        int start = data.position();
        data.put(bytes, 0, length);
        data.putInt(start + Update.STREAM_AT, stream);
        left = channel.packBuffer(packed, error);
        if (left < TransportReturnCodes.SUCCESS) {
            throw new IllegalStateException("pack: " + error.text());
        }
        // The next must fit with its length in front.
        if (left < length + 2) {
            write();
        }
    }

    /** Writes what was added. */
    void write() {
        if (packed == null) {
            return;
        }
        TransportBuffer full = packed;
        packed = null;
        send(full);
    }

    /** A buffer that is not packed, or one that is. */
    private TransportBuffer buffer(int bytes) {
        TransportBuffer buffer;
        while ((buffer = channel.getBuffer(bytes, true, error)) == null) {
            flush();
        }
        return buffer;
    }

    void send(TransportBuffer buffer) {
        int code;
        while ((code = channel.write(buffer, args, error)) == TransportReturnCodes.WRITE_CALL_AGAIN) {
            flush();
        }
        if (code < TransportReturnCodes.SUCCESS && code != TransportReturnCodes.WRITE_FLUSH_FAILED) {
            throw new IllegalStateException("write: " + code + " " + error.text());
        }
        isPending = code != TransportReturnCodes.SUCCESS;
    }

    /** Writes what the socket did not take before. */
    void flush() {
        int code = channel.flush(error);
        if (code < TransportReturnCodes.SUCCESS && code != TransportReturnCodes.WRITE_FLUSH_FAILED) {
            throw new IllegalStateException("flush: " + code + " " + error.text());
        }
        isPending = code != TransportReturnCodes.SUCCESS;
    }

    boolean isPending() {
        return isPending;
    }
}
