package tapeline.peers;

import java.util.Arrays;

/** The streams of each item. */
final class Watchers {
    private final Client[][] clients;
    private final int[][] streams;
    private final int[] counts;

    Watchers(int items) {
        clients = new Client[items][16];
        streams = new int[items][16];
        counts = new int[items];
    }

    /** An item is called I000042, with its number. */
    void add(Client client, String name, int stream) {
        int item = Integer.parseInt(name.substring(1));
        int count = counts[item]++;
        if (count == streams[item].length) {
            clients[item] = Arrays.copyOf(clients[item], 2 * count);
            streams[item] = Arrays.copyOf(streams[item], 2 * count);
        }
        clients[item][count] = client;
        streams[item][count] = stream;
    }

    int items() {
        return counts.length;
    }

    int count(int item) {
        return counts[item];
    }

    Client client(int item, int watcher) {
        return clients[item][watcher];
    }

    int stream(int item, int watcher) {
        return streams[item][watcher];
    }
}
