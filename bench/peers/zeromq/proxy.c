/* The server of the comparison: publishers on one socket, clients on another.
 *
 * Prints "listening PUBLISHERS CLIENTS" with the two addresses, and runs until
 * it is killed.
 *
 * No limit on what waits for a client (high water mark 0), so that nothing is
 * dropped as long as there is memory: a run in which a queue grows is noticed
 * by its latency. One I/O thread, as there is one core for the server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static void must(int is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
        exit(1);
    }
}

/* A socket on any free port. Writes its address, without "tcp://", to place. */
static void *listening(void *context, int type, char *place, size_t room)
{
    char endpoint[256];
    size_t length = sizeof endpoint;
    int no_limit = 0;
    int no_linger = 0;
    void *socket = zmq_socket(context, type);

    must(socket != NULL, "socket");
    must(zmq_setsockopt(socket, ZMQ_SNDHWM, &no_limit, sizeof no_limit) == 0, "ZMQ_SNDHWM");
    must(zmq_setsockopt(socket, ZMQ_RCVHWM, &no_limit, sizeof no_limit) == 0, "ZMQ_RCVHWM");
    must(zmq_setsockopt(socket, ZMQ_LINGER, &no_linger, sizeof no_linger) == 0, "ZMQ_LINGER");
    must(zmq_bind(socket, "tcp://127.0.0.1:*") == 0, "bind");
    must(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &length) == 0, "ZMQ_LAST_ENDPOINT");
    snprintf(place, room, "%s", endpoint + strlen("tcp://"));
    return socket;
}

int main(void)
{
    char publishers[256];
    char clients[256];
    void *context = zmq_ctx_new();
    void *in;
    void *out;

    must(context != NULL, "context");
    must(zmq_ctx_set(context, ZMQ_IO_THREADS, 1) == 0, "ZMQ_IO_THREADS");
    in = listening(context, ZMQ_XSUB, publishers, sizeof publishers);
    out = listening(context, ZMQ_XPUB, clients, sizeof clients);
    printf("listening %s %s\n", publishers, clients);
    fflush(stdout);
    must(zmq_proxy(in, out, NULL) == 0, "proxy");
    return 0;
}
