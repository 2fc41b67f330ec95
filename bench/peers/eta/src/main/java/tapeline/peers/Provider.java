package tapeline.peers;

import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.transport.BindOptions;
import com.refinitiv.eta.transport.Channel;
import com.refinitiv.eta.transport.ChannelState;
import com.refinitiv.eta.transport.ConnectionTypes;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.InProgFlags;
import com.refinitiv.eta.transport.InProgInfo;
import com.refinitiv.eta.transport.InitArgs;
import com.refinitiv.eta.transport.ReadArgs;
import com.refinitiv.eta.transport.Server;
import com.refinitiv.eta.transport.Transport;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.transport.TransportReturnCodes;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * An interactive provider on one thread that publishes on its own schedule. Arguments: the service; "spin", "park" or
 * "gather"; the number of items.
 *
 * <p>It is written for speed: no locks, direct writes without copies in between, an update encoded once, its copies
 * packed into the frame of each client with the stream patched, one write a client and turn, nothing allocated for an
 * update.
 */
public final class Provider {
    /** While it publishes, the sockets are looked at this often. */
    private static final long READ_INTERVAL_NANOS = 1_000_000;

    private static final int UPDATES_PER_TURN = 64;

    /** What is gathered leaves this often. */
    private static final long GATHER_NANOS = 20_000_000;

    private final Error error = TransportFactory.createError();
    private final ReadArgs readArgs = TransportFactory.createReadArgs();
    private final InProgInfo progress = TransportFactory.createInProgInfo();
    private final BlockingQueue<Order> orders = new LinkedBlockingQueue<>();
    private final Update update = new Update(Codec.majorVersion(), Codec.minorVersion());
    private final List<Client> clients = new ArrayList<>();
    private final Selector selector;
    private final Server server;
    private final Watchers watchers;
    private final Answers answers;
    private final Clock clock;
    private final boolean gathers;
    private long lastWrite = Clock.now();
    private Client[] touched = new Client[16];
    private int touchedCount;

    private Provider(String service, String idle, int items) throws IOException {
        clock = new Clock(idle.equals("spin"));
        gathers = idle.equals("gather");
        watchers = new Watchers(items);
        answers = new Answers(service, watchers, error);
        selector = Selector.open();
        server = bind();
        server.selectableChannel().register(selector, SelectionKey.OP_ACCEPT, server);
    }

    /** Starts it; it runs until it is killed. */
    public static void main(String[] arguments) throws IOException {
        new Provider(arguments[0], arguments[1], Integer.parseInt(arguments[2])).run();
    }

    private Server bind() {
        InitArgs init = TransportFactory.createInitArgs();
        // All is done on one thread.
        init.globalLocking(false);
        require(Transport.initialize(init, error));
        BindOptions options = TransportFactory.createBindOptions();
        options.connectionType(ConnectionTypes.SOCKET);
        options.interfaceName("127.0.0.1");
        options.serviceName("0");
        options.majorVersion(Codec.majorVersion());
        options.minorVersion(Codec.minorVersion());
        options.protocolType(Codec.protocolType());
        options.serverBlocking(false);
        options.channelsBlocking(false);
        options.tcpOpts().tcpNoDelay(true);
        options.guaranteedOutputBuffers(200);
        options.maxOutputBuffers(400);
        Server bound = Transport.bind(options, error);
        if (bound == null) {
            throw new IllegalStateException("bind: " + error.text());
        }
        return bound;
    }

    private void require(int code) {
        if (code < TransportReturnCodes.SUCCESS) {
            throw new IllegalStateException(code + " " + error.text());
        }
    }

    private void run() throws IOException {
        // The SDK only knows the port that it was asked for.
        ServerSocketChannel socket = (ServerSocketChannel) server.selectableChannel();
        System.out.println("listening " + ((InetSocketAddress) socket.getLocalAddress()).getPort());
        Thread reader = new Thread(this::takeOrders, "orders");
        reader.setDaemon(true);
        reader.start();
        while (true) {
            Order order = orders.poll();
            if (order == null) {
                read(1);
            } else {
                System.out.println("ran " + publish(order));
            }
        }
    }

    private void takeOrders() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            String line;
            while ((line = in.readLine()) != null) {
                orders.add(Order.parse(line));
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Publishes at an even pace. Returns how many updates. */
    private long publish(Order order) throws IOException {
        long sent = 0;
        long lastRead = Clock.now();
        while (true) {
            long now = Clock.now();
            if (now >= order.end()) {
                write();
                flushAll();
                return sent;
            }
            long before = sent;
            while (sent - before < UPDATES_PER_TURN && order.due(sent) <= now) {
                spread(order.due(sent), order.first() + sent);
                sent++;
            }
            if (!gathers && sent > before || gathers && now - lastWrite >= GATHER_NANOS) {
                lastWrite = now;
                write();
            }
            if (now - lastRead >= READ_INTERVAL_NANOS) {
                lastRead = now;
                read(0);
                flushPending();
            }
            if (sent == before) {
                clock.waitFor(Math.min(order.due(sent), order.end()));
            }
        }
    }

    /** Encodes an update and adds a copy for each client that watches its item. */
    private void spread(long due, long number) {
        int item = (int) (number % watchers.items());
        int length = update.encode(due, number);
        byte[] bytes = update.bytes();
        int count = watchers.count(item);
        for (int watcher = 0; watcher < count; watcher++) {
            Client client = watchers.client(item, watcher);
            client.add(bytes, length, watchers.stream(item, watcher));
            if (!client.isListed) {
                client.isListed = true;
                touched[touchedCount++] = client;
            }
        }
    }

    private void write() {
        for (int place = 0; place < touchedCount; place++) {
            touched[place].write();
            touched[place].isListed = false;
        }
        touchedCount = 0;
    }

    private void flushPending() {
        for (int place = 0; place < clients.size(); place++) {
            Client client = clients.get(place);
            if (client.isPending()) {
                client.flush();
            }
        }
    }

    private void flushAll() {
        boolean isAny = true;
        while (isAny) {
            isAny = false;
            flushPending();
            for (Client client : clients) {
                isAny |= client.isPending();
            }
        }
    }

    /** Accepts and reads, after waiting for so many milliseconds at most. */
    private void read(int millis) throws IOException {
        int ready = millis > 0 ? selector.select(millis) : selector.selectNow();
        if (ready == 0) {
            return;
        }
        Iterator<SelectionKey> keys = selector.selectedKeys().iterator();
        while (keys.hasNext()) {
            SelectionKey key = keys.next();
            keys.remove();
            if (key.attachment() instanceof Client client) {
                read(client);
            } else {
                accept();
            }
        }
        flushPending();
    }

    private void accept() throws IOException {
        Channel channel = server.accept(TransportFactory.createAcceptOptions(), error);
        if (channel == null) {
            return;
        }
        Client client = new Client(channel, error);
        clients.add(client);
        touched = new Client[clients.size()];
        channel.selectableChannel().register(selector, SelectionKey.OP_READ, client);
    }

    private void read(Client client) throws IOException {
        Channel channel = client.channel;
        if (channel.state() == ChannelState.INITIALIZING) {
            require(channel.init(progress, error));
            if ((progress.flags() & InProgFlags.SCKT_CHNL_CHANGE) != 0) {
                channel.selectableChannel().register(selector, SelectionKey.OP_READ, client);
            }
            return;
        }
        while (true) {
            TransportBuffer buffer = channel.read(readArgs, error);
            if (buffer != null) {
                answers.answer(client, buffer);
                continue;
            }
            int code = readArgs.readRetVal();
            if (code == TransportReturnCodes.READ_WOULD_BLOCK) {
                return;
            }
            if (code < TransportReturnCodes.SUCCESS
                    && code != TransportReturnCodes.READ_PING
                    && code != TransportReturnCodes.READ_IN_PROGRESS) {
                // The consumers end first: this process is about to be killed.
                channel.selectableChannel().close();
                clients.remove(client);
                return;
            }
        }
    }
}
