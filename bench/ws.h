// A WebSocket connection to a session server, ours (`hawser.v1`) or ttyd (`tty`), with little overhead.

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
	// Position of our input stream.
	uint64_t input;
	// Received so far: the offset after the output, the last acknowledged offset, and the numbers of bytes and frames.
	uint64_t offset, acked;
	double bytes, messages;
	unsigned char *buffer;
	size_t start, end;
};

// Output of a frame. `length` is zero for the welcome, events and receipts, and ttyd's title and preferences.
struct output {
	const unsigned char *bytes;
	size_t length;
};

void check(int result, const char *what);
__attribute__((noreturn)) void fail(const char *format, ...);
void send_all(int fd, const void *bytes, size_t length);
int connect_to(int port);

// Connects, upgrades and says hello. `since` is a number or "end" in quotes. Live connections are viewers, others writers.
struct ws *ws_open(const struct target *target, const char *since, int is_live);
void ws_close(struct ws *ws);
// Reads once, any number of bytes.
void ws_fill(struct ws *ws);
// The next complete frame; false if there is none. Its bytes are valid until the next fill.
int ws_next(struct ws *ws, struct output *output);
// Acknowledges output if enough has come since the last time.
void ws_acknowledge(struct ws *ws);
// Sends input.
void ws_type(struct ws *ws, const char *bytes, size_t length);

#endif
