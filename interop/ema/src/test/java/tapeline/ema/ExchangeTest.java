package tapeline.ema;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.MapEntry.MapAction;
import com.refinitiv.ema.rdm.EmaRdm;
import java.math.BigDecimal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Orders of a native client are what an EMA consumer sees: exchange, feed handler, hub, server. */
@DisabledIfEnvironmentVariable(named = Market.NEEDS_TAPELINE, matches = "1")
class ExchangeTest {
    private static final String SERVICE = "EXCHANGE";
    private static final String NAME = "VOD.L";
    private static final int INSTRUMENT = 1;

    private static final int BID = 22;
    private static final int ASK = 25;
    private static final int TRDPRC_1 = 6;
    private static final int ORDER_PRC = 3427;
    private static final int ORDER_SIZE = 3429;

    @RegisterExtension
    final Logs logs = new Logs();

    private Tapeline exchange;
    private NativeClient client;
    private Consumer consumer;

    @BeforeEach
    void start() {
        exchange = logs.of(Tapeline.exchange("demo", "--any-port", "--open", "--makers", "0", "--takers", "0"));
        client = new NativeClient(exchange.ordersPort(), "EMA");
        consumer = new Consumer(Settings.Compression.NONE, exchange.consumerPort());
    }

    @AfterEach
    void stop() {
        consumer.close();
        client.close();
        exchange.close();
    }

    private Stream open(int domain) {
        return consumer.open(
                EmaFactory.createReqMsg().domainType(domain).serviceName(SERVICE).name(NAME), NAME + domain);
    }

    private static String number(Value value) {
        if (!(value instanceof Value.Real real)) {
            return "";
        }
        return BigDecimal.valueOf(real.mantissa()).scaleByPowerOfTen(real.magnitude() - 14).toPlainString();
    }

    private static Map<Integer, Value> fields(Value.Fields fields) {
        Map<Integer, Value> found = new HashMap<>();
        fields.fields().forEach(field -> found.put(field.id(), field.value()));
        return found;
    }

    /** `quantity@price` of every row, as all events until now make it. */
    private static List<String> book(Stream stream) {
        Map<Value, Map<Integer, Value>> rows = new HashMap<>();
        for (Event event : stream.events.all()) {
            if (event.isImage()) {
                rows.clear();
            }
            if (!(event.payload() instanceof Value.Rows change)) {
                continue;
            }
            for (Value.Row row : change.rows()) {
                if (row.action() == MapAction.DELETE) {
                    rows.remove(row.key());
                } else {
                    rows.computeIfAbsent(row.key(), key -> new TreeMap<>()).putAll(fields((Value.Fields) row.load()));
                }
            }
        }
        return rows.values().stream()
                .map(row -> number(row.get(ORDER_SIZE)) + "@" + number(row.get(ORDER_PRC)))
                .sorted().toList();
    }

    private static String quote(Stream stream, int... ids) {
        Map<Integer, Value> all = new HashMap<>();
        stream.events.all().forEach(event -> all.putAll(fields(event.fields())));
        StringBuilder text = new StringBuilder();
        for (int id : ids) {
            text.append(number(all.get(id))).append(' ');
        }
        return text.toString().trim();
    }

    private static void awaitBook(Stream stream, String... rows) {
        List<String> wanted = java.util.Arrays.stream(rows).sorted().toList();
        stream.events.await("a book of " + wanted, event -> book(stream).equals(wanted));
    }

    @Test
    void ordersOfANativeClientAreTheBookThatAConsumerSees() {
        Stream byOrder = open(EmaRdm.MMT_MARKET_BY_ORDER);
        Stream byPrice = open(EmaRdm.MMT_MARKET_BY_PRICE);
        Stream quote = open(EmaRdm.MMT_MARKET_PRICE);
        quote.image();
        client.order("B1", INSTRUMENT, NativeClient.BUY, 100, 99.95);
        client.order("B2", INSTRUMENT, NativeClient.BUY, 50, 99.95);
        client.order("S1", INSTRUMENT, NativeClient.SELL, 70, 100.05);
        awaitBook(byOrder, "100@99.95", "50@99.95", "70@100.05");
        awaitBook(byPrice, "150@99.95", "70@100.05");
        quote.events.await("a quote", event -> quote(quote, BID, ASK).equals("99.95 100.05"));

        client.cancel("C1", "B1", INSTRUMENT, NativeClient.BUY);
        awaitBook(byOrder, "50@99.95", "70@100.05");
        awaitBook(byPrice, "50@99.95", "70@100.05");

        NativeClient other = new NativeClient(exchange.ordersPort(), "OTHER");
        other.order("T1", INSTRUMENT, NativeClient.SELL, 20, 99.95);
        other.close();
        awaitBook(byOrder, "30@99.95", "70@100.05");
        quote.events.await("a trade", event -> quote(quote, TRDPRC_1).equals("99.95"));
    }
}
