// One WebSocket to a server of sessions, ours (`hawser.v1`) or ttyd (`tty`), at as little cost as possible.

#ifndef HAWSER_BENCH_WS_H
#define HAWSER_BENCH_WS_H

#include <stddef.h>
#include <stdint.h>

struct target {
	int is_ttyd;
	int port;
	const char *path;
	const char *token;
};

struct ws {
	int fd;
	int is_ttyd;
	int is_live;
	// Where our input stream stands.
	uint64_t input;
	// What was received: the offset after it, the last one we acknowledged, and how much and in how many frames.
	uint64_t offset, acked;
	double bytes, messages;
	unsigned char *buffer;
	size_t start, end;
};

// What a frame brought: `length` is zero for the welcome, events and receipts, and ttyd's title and preferences.
struct output {
	const unsigned char *bytes;
	size_t length;
};

void check(int result, const char *what);
__attribute__((noreturn)) void fail(const char *format, ...);
void send_all(int fd, const void *bytes, size_t length);
int connect_to(int port);

// Connects, upgrades and says hello. `since` is a number or "end" in quotes; a live one is a viewer, others write.
struct ws *ws_open(const struct target *target, const char *since, int is_live);
void ws_close(struct ws *ws);
// Reads once, however much there is.
void ws_fill(struct ws *ws);
// The next frame that is complete already; false when there is none. Its bytes are valid until the next fill.
int ws_next(struct ws *ws, struct output *output);
// Says how far we came, if that is far enough since the last time.
void ws_acknowledge(struct ws *ws);
// Types.
void ws_type(struct ws *ws, const char *bytes, size_t length);

#endif
