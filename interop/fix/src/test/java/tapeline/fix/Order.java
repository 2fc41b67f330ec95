package tapeline.fix;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import quickfix.Message;

/** An order of a client, as its reports tell of it. */
final class Order {
    private final Client client;
    private final String side;
    private final String entered;
    private volatile String name;

    Order(Client client, Request request) {
        this.client = client;
        side = request.side();
        entered = request.name();
        name = entered;
    }

    /** As its last request called it. */
    String name() {
        return name;
    }

    String side() {
        return side;
    }

    /** Amends it; from then on it has the name of the request. */
    Order amend(Request request) {
        client.send(request);
        name = request.name();
        return this;
    }

    /** What the exchange calls it, which its first report tells. */
    String id() {
        return Fields.of(first(), 37);
    }

    private Message first() {
        return client.application().await("a report of " + entered, message -> Fields.is(message, "8", 11, entered));
    }

    /** Each once, however often it was sent: doubles have the same ExecID. */
    List<Message> reports() {
        String id = id();
        boolean isRefused = id.equals("NONE");
        Set<String> executions = new HashSet<>();
        return client.application().all(message ->
                (isRefused ? Fields.is(message, "8", 11, entered) : Fields.is(message, "8", 37, id))
                        && executions.add(Fields.of(message, 17)));
    }

    Message last() {
        List<Message> reports = reports();
        return reports.get(reports.size() - 1);
    }

    /** All that the exchange has said of it: ExecType/OrdStatus of each report. */
    private String states() {
        return reports().stream()
                .map(report -> Fields.of(report, 150) + "/" + Fields.of(report, 39))
                .collect(Collectors.joining(" "));
    }

    /** Waits for the whole story of it until now, and returns the last report. */
    Message await(String states) {
        first();
        client.application().awaitAll(entered + " to be " + states, all -> states().equals(states));
        return last();
    }
}
