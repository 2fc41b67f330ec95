package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An operator logs a user out, whose EMA consumers are told so. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class LogoutTest {
    private static final String TEXT = "Force Logout from DACS.";

    @RegisterExtension
    final Logs logs = new Logs();

    /** Runs {@code tapeline admin logout}; its exit status. */
    private static int logout(Tapeline tapeline, String user) {
        try (Tapeline program = Tapeline.printing(
                "admin", "--admin", "127.0.0.1:" + tapeline.adminPort(), "logout", user)) {
            return program.exit();
        }
    }

    private static Stream shown(Consumer consumer) {
        Stream stream = consumer.open(Source.SERVICE, "ONE.N");
        assertTrue(stream.image().says(StreamState.OPEN, DataState.OK));
        return stream;
    }

    @Test
    void aUserWhomAnOperatorLogsOutIsToldAtEachOfHisConsumersAndNobodyElseIs() {
        int port = Ports.free();
        try (Source source = new Source(port);
                Tapeline tapeline = logs.of(Tapeline.run("""
                        [[hub.source]]
                        hosts = ["127.0.0.1:%d"]
                        [admin]
                        port = 0
                        """.formatted(port)));
                Consumer first = new Consumer(new Consumer.User("ann"), tapeline.consumerPort());
                Consumer second = new Consumer(new Consumer.User("ann"), tapeline.consumerPort());
                Consumer bob = new Consumer(new Consumer.User("bob"), tapeline.consumerPort())) {
            Stream item = shown(first);
            Stream others = shown(bob);
            Stream login = first.login();
            Stream secondLogin = second.login();
            assertTrue(login.image().says(StreamState.OPEN, DataState.OK));
            assertTrue(secondLogin.image().says(StreamState.OPEN, DataState.OK));
            assertEquals(0, logout(tapeline, "ann"));
            for (Stream each : new Stream[] {login, secondLogin}) {
                Event end = each.closed();
                assertEquals(StatusCode.NOT_AUTHORIZED, end.state().code(), end.toString());
                assertEquals(TEXT, end.state().text());
            }
            tapeline.awaitLogged(2, "a user is logged out", "user=ann");
            tapeline.awaitCounted("tapeline_server_users_logged_out_total", 2);
            // Her streams are over, and nothing comes on them any more.
            int seen = item.events.size();
            int mark = others.events.size();
            source.update("ONE.N", 1, Samples.tick(1));
            others.updateFrom(mark);
            assertTrue(item.events.all().subList(seen, item.events.size()).stream().noneMatch(Event::isUpdate));
            // She may come again: it is no ban.
            try (Consumer again = new Consumer(new Consumer.User("ann"), tapeline.consumerPort())) {
                shown(again);
            }
            // Of whom there is no mount, the operator is told.
            assertEquals(1, logout(tapeline, "eve"));
        }
    }
}
