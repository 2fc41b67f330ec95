import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import quickfix.ApplicationAdapter;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.Group;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.ScreenLogFactory;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketInitiator;
import quickfix.UtcTimestampPrecision;

/**
 * Sends one order to the exchange and prints what becomes of it, until it is filled, refused or over.
 *
 * <p>Arguments: HOST:PORT USER PASSWORD buy|sell QUANTITY PRICE [INSTRUMENT]
 */
public final class SendOrder extends ApplicationAdapter {
    private static final int BUY = 1;
    private static final int SELL = 2;
    private static final String OVER = "248C";

    private final CountDownLatch over = new CountDownLatch(1);
    private final String[] arguments;

    private SendOrder(String[] arguments) {
        this.arguments = arguments;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 6) {
            System.err.println("arguments: HOST:PORT USER PASSWORD buy|sell QUANTITY PRICE [INSTRUMENT]");
            System.exit(2);
        }
        new SendOrder(arguments).run();
    }

    private void run() throws Exception {
        String[] address = arguments[0].split(":");
        SessionID id = new SessionID("FIXT.1.1", arguments[1], "FGW");
        SessionSettings settings = new SessionSettings();
        Map.of(
                        "ConnectionType", "initiator",
                        "SocketConnectHost", address[0],
                        "SocketConnectPort", address[1],
                        "DefaultApplVerID", "FIX.5.0SP2",
                        "HeartBtInt", "30",
                        "NonStopSession", "Y",
                        // Numbers are forgotten with this program, so the exchange has to begin anew as well.
                        "ResetOnLogon", "Y",
                        "UseDataDictionary", "N")
                .forEach((key, value) -> settings.setString(id, key, value));
        // Prints events of the session, and no messages: those are printed below.
        ScreenLogFactory log = new ScreenLogFactory(false, false, true);
        SocketInitiator initiator = new SocketInitiator(
                this, new MemoryStoreFactory(), settings, log, new DefaultMessageFactory("FIX.5.0SP2"));
        initiator.start();
        over.await();
        initiator.stop();
    }

    @Override
    public void toAdmin(Message message, SessionID id) {
        if (message.getHeader().getOptionalString(35).filter("A"::equals).isPresent()) {
            message.setString(553, arguments[1]);
            message.setString(554, arguments[2]);
        }
    }

    @Override
    public void onLogon(SessionID id) {
        Message order = new Message();
        order.getHeader().setString(35, "D");
        order.setString(11, "ORDER-1");
        order.setString(48, arguments.length > 6 ? arguments[6] : "1");
        order.setString(22, "8");
        order.setInt(54, arguments[3].equals("buy") ? BUY : SELL);
        order.setString(38, arguments[4]);
        // All of it is shown; less would make it an iceberg.
        order.setString(1138, arguments[4]);
        order.setInt(40, 2);
        order.setString(44, arguments[5]);
        // For the account of the house, as principal.
        order.setInt(581, 3);
        order.setString(528, "P");
        order.setUtcTimeStamp(60, LocalDateTime.now(ZoneOffset.UTC), UtcTimestampPrecision.MICROS);
        Group trader = new Group(453, 448);
        trader.setString(448, arguments[1]);
        trader.setString(447, "D");
        trader.setInt(452, 76);
        order.addGroup(trader);
        Session.lookupSession(id).send(order);
    }

    @Override
    public void onLogout(SessionID id) {
        System.out.println("logged out");
        over.countDown();
    }

    @Override
    public void fromAdmin(Message message, SessionID id) throws FieldNotFound {
        // What is wrong with the order itself comes as a reject of the session.
        if (message.getHeader().getString(35).equals("3")) {
            print(message);
            over.countDown();
        }
    }

    @Override
    public void fromApp(Message message, SessionID id) {
        print(message);
        String status = message.getOptionalString(39).orElse("8");
        if (OVER.contains(status)) {
            over.countDown();
        }
    }

    private static void print(Message message) {
        System.out.println(message.toString().replace('\u0001', '|'));
    }
}
