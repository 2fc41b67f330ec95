package tapeline.fix;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import quickfix.Application;
import quickfix.ConfigError;
import quickfix.DefaultMessageFactory;
import quickfix.Log;
import quickfix.MemoryStore;
import quickfix.Message;
import quickfix.MessageStore;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketInitiator;

/**
 * Somebody who trades by QuickFIX/J. Numbers and messages outlive connections, as those that are kept in files would.
 * Whatever comes is checked by QuickFIX/J against the dictionaries and here against the rules of reports; what is
 * wrong fails the test at its end.
 */
final class Client implements Application, Log, AutoCloseable {
    static final String EXCHANGE = "FGW";
    static final String POST_TRADE = "PTGW";

    private static final int HEARTBEAT_S = 30;
    private static final String LOGGED_ON = "logged on";
    private static final String LOGGED_OUT = "logged out";

    private String password;
    private final SessionID id;
    private final MessageStore store;
    private final SessionSettings settings = new SessionSettings();
    private final Inbox<Message> application;
    private final Inbox<Message> admin;
    private final Inbox<String> received;
    private final Inbox<String> sent;
    private final Inbox<String> events;
    private final Inbox<Integer> counted;
    private final List<String> faults = new ArrayList<>();
    private final Reports reports = new Reports();
    private Consumer<Message> logonWith = logon -> {};
    private SocketInitiator initiator;
    /** What is under way when the client leaves finds no session any more. */
    private volatile boolean isLeaving;

    Client(int port, String name, String password) {
        this(port, name, password, EXCHANGE);
    }

    /** A client of another gateway of the exchange. */
    Client(int port, String name, String password, String gateway) {
        this.password = password;
        id = new SessionID("FIXT.1.1", name, gateway);
        application = new Inbox<>(name);
        admin = new Inbox<>(name);
        received = new Inbox<>(name + ", what came");
        sent = new Inbox<>(name + ", what went");
        events = new Inbox<>(name + ", events");
        counted = new Inbox<>(name + ", numbers");
        try {
            store = new MemoryStore(id) {
                @Override
                public void incrNextTargetMsgSeqNum() throws IOException {
                    super.incrNextTargetMsgSeqNum();
                    counted.add(getNextTargetMsgSeqNum());
                }
            };
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        configure();
        at(port);
    }

    private void configure() {
        with("ConnectionType", "initiator");
        with("SocketConnectHost", "127.0.0.1");
        with("NonStopSession", "Y");
        with("HeartBtInt", Integer.toString(HEARTBEAT_S));
        with("ReconnectInterval", "3600");
        with("DefaultApplVerID", "FIX.5.0SP2");
        with("UseDataDictionary", "Y");
        with("TransportDataDictionary", Dictionaries.TRANSPORT.toString());
        with("AppDataDictionary", Dictionaries.APPLICATION.toString());
        // All checks that there are, but for tags of our own from 5000 on.
        with("ValidateIncomingMessage", "Y");
        with("ValidateFieldsOutOfOrder", "Y");
        with("ValidateUnorderedGroupFields", "Y");
        with("ValidateFieldsHaveValues", "Y");
        with("ValidateChecksum", "Y");
        with("AllowUnknownMsgFields", "N");
        with("ValidateUserDefinedFields", "N");
        with("RequiresOrigSendingTime", "Y");
    }

    /** A setting of QuickFIX/J, for connections from now on. */
    Client with(String setting, String value) {
        settings.setString(id, setting, value);
        return this;
    }

    /** Where the exchange is from now on. */
    Client at(int port) {
        return with("SocketConnectPort", Integer.toString(port));
    }

    /** The password of logons from now on. */
    Client withPassword(String other) {
        password = other;
        return this;
    }

    /** Changes the logons from now on. */
    Client logonWith(Consumer<Message> change) {
        logonWith = change;
        return this;
    }

    /** Connects; the logon goes out by itself. */
    Client connect() {
        isLeaving = false;
        try {
            initiator = new SocketInitiator(
                    this, ignored -> store, settings, ignored -> this, new DefaultMessageFactory("FIX.5.0SP2"));
            initiator.start();
        } catch (ConfigError e) {
            throw new IllegalStateException(e);
        }
        return this;
    }

    /** Connects and waits until the exchange has let it in. */
    Client logOn() {
        int from = events.size();
        connect();
        events.awaitFrom(from, "to be logged on", LOGGED_ON::equals);
        return this;
    }

    /** Logs out and waits for the answer, which is returned. */
    Message logOut() {
        int from = admin.size();
        session().logout();
        Message answer = admin.awaitFrom(from, "a logout", message -> Fields.type(message).equals("5"));
        settle().drop();
        return answer;
    }

    /** Ends the connection without a word. */
    void drop() {
        if (initiator != null) {
            isLeaving = true;
            initiator.stop(true);
            initiator = null;
        }
    }

    /** Waits until the exchange has ended the connection. */
    void awaitDisconnect() {
        events.await("to be disconnected", event -> event.startsWith("Disconnecting") || event.equals(LOGGED_OUT));
    }

    Session session() {
        return Session.lookupSession(id);
    }

    String name() {
        return id.getSenderCompID();
    }

    /** The number that its next message has. */
    int nextOut() {
        try {
            return store.getNextSenderMsgSeqNum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Gives its next message another number. */
    void setNextOut(int number) {
        try {
            store.setNextSenderMsgSeqNum(number);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The number that it expects next of the exchange. */
    int nextIn() {
        try {
            return store.getNextTargetMsgSeqNum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until QuickFIX/J has counted the last message that came, which it does after the application has it. */
    Client settle() {
        List<String> all = received.all();
        int last = Integer.parseInt(all.get(all.size() - 1).replaceAll(".*\\|34=(\\d+).*", "$1"));
        counted.await("message " + last + " to be counted", next -> next == last + 1);
        return this;
    }

    /** Forgets all that came from a number on. */
    void forgetFrom(int number) {
        settle();
        try {
            store.setNextTargetMsgSeqNum(number);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends an order. */
    Order order(Request request) {
        send(request);
        return new Order(this, request);
    }

    void send(Request request) {
        send(request.message());
    }

    void send(Message message) {
        if (!session().send(message)) {
            throw new AssertionError(id + ": not sent: " + Fields.readable(message));
        }
    }

    /** What the application got, in the order of numbers. */
    Inbox<Message> application() {
        return application;
    }

    /** What came about the session, in the order of numbers. */
    Inbox<Message> admin() {
        return admin;
    }

    /** All that came, as it came. */
    Inbox<String> received() {
        return received;
    }

    /** All that went. */
    Inbox<String> sent() {
        return sent;
    }

    /** The next report of a type about a request of this name. */
    Message awaitMessage(String type, String name) {
        return application.await(type + " of " + name, message -> Fields.is(message, type, 11, name));
    }

    // What QuickFIX/J calls.

    @Override
    public void onCreate(SessionID ignored) {}

    @Override
    public void onLogon(SessionID ignored) {
        onEvent(LOGGED_ON);
    }

    @Override
    public void onLogout(SessionID ignored) {
        onEvent(LOGGED_OUT);
    }

    @Override
    public void toAdmin(Message message, SessionID ignored) {
        if (Fields.type(message).equals("A")) {
            message.setString(553, id.getSenderCompID());
            message.setString(554, password);
            logonWith.accept(message);
        }
    }

    @Override
    public void fromAdmin(Message message, SessionID ignored) {
        admin.add(message);
    }

    @Override
    public void toApp(Message message, SessionID ignored) {}

    @Override
    public void fromApp(Message message, SessionID ignored) {
        if (Fields.type(message).equals("8")) {
            reports.check(message).forEach(this::fault);
        }
        application.add(message);
    }

    @Override
    public void clear() {}

    @Override
    public void onIncoming(String message) {
        received.add(Fields.readable(message));
    }

    @Override
    public void onOutgoing(String message) {
        String text = Fields.readable(message);
        if (text.contains("|35=3|") || text.contains("|35=j|")) {
            fault("refused by QuickFIX/J: " + text);
        }
        sent.add(text);
    }

    @Override
    public void onEvent(String text) {
        events.add(text);
    }

    @Override
    public void onErrorEvent(String text) {
        events.add("error: " + text);
        fault(text);
    }

    private synchronized void fault(String text) {
        if (!isLeaving) {
            String readable = Fields.readable(text);
            faults.add(readable);
            List.of(application, admin).forEach(inbox -> inbox.setBroken(readable));
        }
    }

    /** Nothing that came since the last time may have been wrong. */
    synchronized void assertNoFaults() {
        List<String> found = List.copyOf(faults);
        faults.clear();
        List.of(application, admin).forEach(inbox -> inbox.setBroken(null));
        if (!found.isEmpty()) {
            throw new AssertionError(id + ": " + String.join("\n  ", found) + received.last() + events.last());
        }
    }

    /** Ends the connection; nothing that came may have been wrong. */
    @Override
    public void close() {
        drop();
        assertNoFaults();
    }
}
