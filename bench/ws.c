// A WebSocket connection to a session server; see ws.h.

#define _GNU_SOURCE
#include "ws.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
// Frame types of src/api/frames.ts.
enum { INPUT = 0x00, STDOUT = 0x01, STDERR = 0x02, CONSUMED = 0x04, RECEIPT = 0x80 };

// Twice the size of a read, so that a full read always fits after an incomplete frame.
#define READ_BYTES (1024 * 1024)
#define BUFFER_BYTES (2 * READ_BYTES)
// A quarter of the window, so that the server never waits for us while we read.
#define ACK_BYTES (64 * 1024)

void fail(const char *format, ...) {
	va_list values;
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fputc('\n', stderr);
	exit(1);
}

void check(int result, const char *what) {
	if (result >= 0) return;
	perror(what);
	exit(1);
}

void send_all(int fd, const void *bytes, size_t length) {
	for (const char *next = bytes; length > 0;) {
		ssize_t sent = send(fd, next, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR) continue;
		check(sent, "send");
		next += sent;
		length -= sent;
	}
}

int connect_to(int port) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	check(fd, "socket");
	check(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
	check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
	return fd;
}

// Clients must mask their frames (RFC 6455 §5.3); the mask itself does not matter here.
static void send_frame(struct ws *ws, int opcode, const void *payload, size_t length) {
	static const unsigned char mask[4] = {0x5a, 0xc3, 0x96, 0x0f};
	unsigned char frame[8 + 512];
	if (length > 512) fail("a frame of %zu bytes is more than this client sends", length);
	size_t head = 0;
	frame[head++] = 0x80 | opcode;
	frame[head++] = 0x80 | (length < 126 ? length : 126);
	if (length >= 126) {
		frame[head++] = length >> 8;
		frame[head++] = length & 0xff;
	}
	memcpy(frame + head, mask, 4);
	head += 4;
	for (size_t i = 0; i < length; i++) frame[head + i] = ((const unsigned char *)payload)[i] ^ mask[i % 4];
	send_all(ws->fd, frame, head + length);
}

static void upgrade(struct ws *ws, const struct target *target) {
	char request[2048];
	int length = snprintf(
		request, sizeof request,
		"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: aGF3c2VyLWJlbmNoLWtleQ==\r\n"
		"Sec-WebSocket-Protocol: %s\r\nAuthorization: Bearer %s\r\n\r\n",
		target->path, target->port, target->is_ttyd ? "tty" : "hawser.v1", target->token);
	send_all(ws->fd, request, length);
	unsigned char *end;
	do {
		ws_fill(ws);
		end = memmem(ws->buffer, ws->end, "\r\n\r\n", 4);
	} while (!end);
	if (memcmp(ws->buffer, "HTTP/1.1 101", 12) != 0) fail("no upgrade: %.*s", (int)ws->end, ws->buffer);
	ws->start = end + 4 - ws->buffer;
}

struct ws *ws_open(const struct target *target, const char *since, int is_live) {
	struct ws *ws = calloc(1, sizeof *ws);
	ws->fd = connect_to(target->port);
	ws->is_ttyd = target->is_ttyd;
	ws->is_live = is_live;
	ws->buffer = malloc(BUFFER_BYTES);
	upgrade(ws, target);
	char hello[256], writer[64];
	snprintf(writer, sizeof writer, "\"writer\",\"stream\":\"bench-%d\"", getpid());
	if (ws->is_ttyd) snprintf(hello, sizeof hello, "{\"AuthToken\":\"\",\"columns\":80,\"rows\":24}");
	else
		snprintf(hello, sizeof hello, "{\"type\":\"hello\",\"since\":%s,\"role\":%s,\"flow\":\"%s\"}", since,
				 is_live ? "\"viewer\"" : writer, is_live ? "live" : "lossless");
	// ttyd expects binary messages; `hello` is a text message.
	send_frame(ws, ws->is_ttyd ? BINARY : TEXT, hello, strlen(hello));
	return ws;
}

void ws_close(struct ws *ws) {
	close(ws->fd);
	free(ws->buffer);
	free(ws);
}

void ws_fill(struct ws *ws) {
	if (ws->start == ws->end) ws->start = ws->end = 0;
	if (BUFFER_BYTES - ws->end < READ_BYTES) {
		memmove(ws->buffer, ws->buffer + ws->start, ws->end - ws->start);
		ws->end -= ws->start;
		ws->start = 0;
	}
	ssize_t length = read(ws->fd, ws->buffer + ws->end, READ_BYTES);
	// A signal arrived, which the caller checks for.
	if (length < 0 && errno == EINTR) return;
	check(length, "read");
	if (length == 0) fail("the server closed the connection after %.0f bytes", ws->bytes);
	ws->end += length;
}

// Bytes after the type: the position, most significant byte first.
static uint64_t position_at(const unsigned char *bytes) {
	uint64_t position;
	memcpy(&position, bytes, sizeof position);
	return be64toh(position);
}

static struct output take_output(struct ws *ws, const unsigned char *payload, size_t length) {
	struct output none = {0};
	size_t head = ws->is_ttyd ? 1 : 9;
	int is_output = length >= head && (ws->is_ttyd ? payload[0] == '0' : payload[0] == STDOUT || payload[0] == STDERR);
	if (!is_output) return none;
	uint64_t offset = ws->is_ttyd ? ws->offset : position_at(payload + 1);
	// The first output shows where this connection begins.
	int may_skip = ws->messages == 0 || ws->is_live;
	if (!may_skip && offset != ws->offset) fail("output at %lu where %lu is due", offset, ws->offset);
	struct output output = {payload + head, length - head};
	if (ws->messages++ == 0 && !ws->is_ttyd) ws->acked = offset;
	ws->offset = offset + output.length;
	ws->bytes += output.length;
	return output;
}

static void take_text(struct ws *ws, const unsigned char *payload, size_t length) {
	static const char *const problems[] = {"{\"type\":\"error\"", "{\"type\":\"lost\"", "{\"type\":\"gap\""};
	// Only live viewers may miss output.
	for (int i = 0; i < (ws->is_live ? 2 : 3); i++) {
		size_t size = strlen(problems[i]);
		if (length < size || memcmp(payload, problems[i], size) != 0) continue;
		fail("the server said %.*s", (int)length, payload);
	}
}

int ws_next(struct ws *ws, struct output *output) {
	const unsigned char *frame = ws->buffer + ws->start;
	size_t there = ws->end - ws->start, head = 2;
	if (there < 2) return 0;
	uint64_t length = frame[1] & 0x7f;
	if (length >= 126) head = length == 126 ? 4 : 10;
	if (there < head) return 0;
	if (head == 4) length = frame[2] << 8 | frame[3];
	if (head == 10) length = position_at(frame + 2);
	// A whole frame and a whole read must fit.
	if (length > READ_BYTES - 10) fail("a frame of %lu bytes", length);
	if (there < head + length) return 0;
	ws->start += head + length;
	const unsigned char *payload = frame + head;
	*output = (struct output){0};
	switch (frame[0]) {
	case 0x80 | BINARY:
		*output = take_output(ws, payload, length);
		break;
	case 0x80 | TEXT:
		take_text(ws, payload, length);
		break;
	case 0x80 | PING:
		send_frame(ws, PONG, payload, length);
		break;
	case 0x80 | PONG:
		break;
	case 0x80 | CLOSE:
		fail("the server closed: %d %.*s", payload[0] << 8 | payload[1], (int)length - 2, payload + 2);
	default:
		fail("unexpected frame 0x%x", frame[0]);
	}
	return 1;
}

void ws_acknowledge(struct ws *ws) {
	// ttyd has no acknowledgments.
	if (ws->is_ttyd || ws->offset - ws->acked < ACK_BYTES) return;
	ws->acked = ws->offset;
	unsigned char payload[9] = {CONSUMED};
	uint64_t position = htobe64(ws->offset);
	memcpy(payload + 1, &position, sizeof position);
	send_frame(ws, BINARY, payload, sizeof payload);
}

void ws_type(struct ws *ws, const char *bytes, size_t length) {
	unsigned char payload[64];
	size_t head = ws->is_ttyd ? 1 : 9;
	if (head + length > sizeof payload) fail("%zu bytes of input at once", length);
	payload[0] = ws->is_ttyd ? '0' : INPUT;
	uint64_t position = htobe64(ws->input);
	if (!ws->is_ttyd) memcpy(payload + 1, &position, sizeof position);
	memcpy(payload + head, bytes, length);
	ws->input += length;
	send_frame(ws, BINARY, payload, head + length);
}
