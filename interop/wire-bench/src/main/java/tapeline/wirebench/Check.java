package tapeline.wirebench;

import com.refinitiv.eta.codec.CodecReturnCodes;

/** Turns a bad return code into an exception; an application checks every call in the same way. */
final class Check {
    private Check() { }

    static void ok(int code) {
        if (code < CodecReturnCodes.SUCCESS) throw new IllegalStateException(CodecReturnCodes.toString(code));
    }
}
