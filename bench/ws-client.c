// A WebSocket client for measurements: reads and discards output, types, or reconnects repeatedly. Prints its results as
// JSON.
//
//   ws-client hawser|ttyd PORT PATH TOKEN MODE...
//
//   bulk WARM BYTES PID...   waits for one byte, types a line, reads WARM bytes, types a line, and measures BYTES
//   keys KEYS                waits for READY, then types single keys and waits for each to come back
//   watch COUNT BYTES PID... reads with so many live viewers, or one lossless reader if COUNT is 0; says `ready`
//                            after BYTES, and what came since then when stdin ends
//   replay END BACK RUNS     connects and reads the last BACK bytes before END
//   create COUNT BODY WATCH  asks for sessions one by one, attaches to each if WATCH is 1, and holds them until
//                            stdin ends; from ttyd, which makes one for every connection, BODY is not used

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "ws.h"

// Not counted: the server's JIT compiles code that runs often.
#define WARM_UP_KEYS 50
#define WARM_UP_REPLAYS 30

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double own_cpu(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Processor seconds of all threads of these processes; more precise than /proc/PID/stat, which counts in hundredths.
static double cpu_of(char **pids) {
	double total = 0;
	for (; *pids; pids++) {
		char path[300];
		snprintf(path, sizeof path, "/proc/%s/task", *pids);
		DIR *threads = opendir(path);
		if (!threads) fail("there is no process %s", *pids);
		for (struct dirent *entry; (entry = readdir(threads));) {
			double nanoseconds = 0;
			snprintf(path, sizeof path, "/proc/%s/task/%.20s/schedstat", *pids, entry->d_name);
			FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
			if (!file) continue;
			if (fscanf(file, "%lf", &nanoseconds) == 1) total += nanoseconds / 1e9;
			fclose(file);
		}
		closedir(threads);
	}
	return total;
}

static int by_size(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_times(double *times, int count, double seconds) {
	qsort(times, count, sizeof *times, by_size);
	printf("{\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f,\"seconds\":%.6f}\n", times[count / 2], times[count * 99 / 100],
		   times[count - 1], seconds);
	fflush(stdout);
}

static void read_up_to(struct ws *ws, double bytes) {
	struct output output;
	while (ws->bytes < bytes) {
		ws_fill(ws);
		while (ws_next(ws, &output)) continue;
		ws_acknowledge(ws);
	}
	if (ws->bytes != bytes) fail("%.0f bytes instead of %.0f", ws->bytes, bytes);
}

static void bulk(const struct target *target, double warm, double bytes, char **pids) {
	struct ws *ws = ws_open(target, "0", 0);
	read_up_to(ws, 1);
	ws_type(ws, "\n", 1);
	read_up_to(ws, 1 + warm);
	// Deferred work of the warm-up, such as the journal's last write, must not count.
	usleep(50 * 1000);
	double messages = ws->messages, used = cpu_of(pids), own = own_cpu();
	ws_type(ws, "\n", 1);
	while (ws->bytes == 1 + warm) {
		struct output output;
		ws_fill(ws);
		while (ws_next(ws, &output)) continue;
	}
	double start = now();
	ws_acknowledge(ws);
	read_up_to(ws, 1 + warm + bytes);
	printf("{\"bytes\":%.0f,\"seconds\":%.6f,\"cpu\":%.6f,\"client\":%.6f,\"messages\":%.0f}\n", bytes, now() - start,
		   cpu_of(pids) - used, own_cpu() - own, ws->messages - messages);
}

static void await_key(struct ws *ws, char key) {
	struct output output;
	for (int came = 0; !came;) {
		ws_fill(ws);
		while (ws_next(ws, &output)) {
			if (output.length == 0) continue;
			int is_echo = output.length == 1 && output.bytes[0] == (unsigned char)key;
			if (!is_echo) fail("'%c' was typed, %zu other bytes came", key, output.length);
			came = 1;
		}
	}
}

// Keys come at random times, up to 2 ms apart, as in limit.c.
static void keys(const struct target *target, int count) {
	struct ws *ws = ws_open(target, "0", 0);
	double *times = calloc(count, sizeof *times), start = now();
	read_up_to(ws, strlen("READY"));
	srandom(1);
	for (int i = -WARM_UP_KEYS; i < count; i++) {
		usleep(random() % 2000);
		double pressed = now();
		char key = 'a' + (i + WARM_UP_KEYS) % 26;
		ws_type(ws, &key, 1);
		await_key(ws, key);
		if (i >= 0) times[i] = (now() - pressed) * 1e6;
	}
	print_times(times, count, now() - start);
}

static void watch(const struct target *target, int count, double warm, char **pids) {
	int viewers = count == 0 ? 1 : count, is_ready = 0;
	struct ws *all[viewers];
	struct pollfd polls[viewers + 1];
	for (int i = 0; i < viewers; i++) {
		all[i] = count == 0 ? ws_open(target, "0", 0) : ws_open(target, "\"end\"", 1);
		polls[i] = (struct pollfd){.fd = all[i]->fd, .events = POLLIN};
	}
	polls[viewers] = (struct pollfd){.fd = 0, .events = POLLIN};
	double start = 0, used = 0, before = 0, bytes = 0, slowest = 0, first[viewers];
	while (!polls[viewers].revents) {
		check(poll(polls, viewers + 1, -1), "poll");
		bytes = 0;
		slowest = 1e18;
		for (int i = 0; i < viewers; i++) {
			struct output output;
			if (polls[i].revents) {
				ws_fill(all[i]);
				while (ws_next(all[i], &output)) continue;
				ws_acknowledge(all[i]);
			}
			bytes += all[i]->bytes;
			double since = is_ready ? all[i]->bytes - first[i] : all[i]->bytes;
			if (since < slowest) slowest = since;
		}
		if (is_ready || bytes < warm || slowest == 0) continue;
		is_ready = 1;
		for (int i = 0; i < viewers; i++) first[i] = all[i]->bytes;
		before = bytes;
		used = cpu_of(pids);
		start = now();
		puts("ready");
		fflush(stdout);
	}
	printf("{\"bytes\":%.0f,\"seconds\":%.6f,\"cpu\":%.6f,\"slowest\":%.0f}\n", bytes - before, now() - start,
		   cpu_of(pids) - used, slowest);
}

static void replay(const struct target *target, double end, double back, int runs) {
	double *times = calloc(runs, sizeof *times), begin = now();
	char since[32];
	snprintf(since, sizeof since, "%.0f", end - back);
	for (int i = -WARM_UP_REPLAYS; i < runs; i++) {
		double start = now();
		struct ws *ws = ws_open(target, since, 0);
		read_up_to(ws, back);
		if (ws->offset != (uint64_t)end) fail("it ended at %lu instead of %.0f", ws->offset, end);
		if (i >= 0) times[i] = (now() - start) * 1e6;
		ws_close(ws);
		// Like a real reconnect, this starts after the server has handled the end of the previous connection.
		usleep(2000);
	}
	print_times(times, runs, now() - begin);
}

// Creates a session over a persistent connection and returns its id.
static void ask(int fd, const struct target *target, const char *body, char *id, size_t size) {
	static char text[64 * 1024];
	int length = snprintf(text, sizeof text,
						  "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
						  "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
						  target->port, target->token, strlen(body), body);
	send_all(fd, text, length);
	char *rest = NULL, *found = NULL;
	size_t got = 0, due = 1;
	while (!rest || got < due) {
		ssize_t more = read(fd, text + got, sizeof text - 1 - got);
		if (more <= 0) fail("no answer");
		text[got += more] = 0;
		rest = strstr(text, "\r\n\r\n");
		if (rest && (found = strcasestr(text, "\r\ncontent-length:"))) due = rest + 4 - text + atoi(found + 17);
	}
	if (memcmp(text, "HTTP/1.1 201", 12) != 0 || !(found = strstr(rest, "\"id\":\""))) fail("refused: %s", text);
	snprintf(id, size, "%.*s", (int)strcspn(found + 6, "\""), found + 6);
}

static void create(const struct target *target, int count, const char *body, int is_watched) {
	double *times = calloc(count, sizeof *times);
	int fd = target->is_ttyd ? -1 : connect_to(target->port);
	double begin = now();
	for (int i = 0; i < count; i++) {
		double start = now();
		struct target session = *target;
		char id[128], path[256];
		if (!target->is_ttyd) {
			ask(fd, target, body, id, sizeof id);
			snprintf(path, sizeof path, "/v1/sessions/%s/attach", id);
			session.path = path;
		}
		if (target->is_ttyd || is_watched) {
			struct output output;
			struct ws *ws = ws_open(&session, "0", 0);
			// The first message shows that the session has started.
			while (!ws_next(ws, &output)) ws_fill(ws);
			// The connection stays open, but buffers of all connections would take a gigabyte.
			free(ws->buffer);
		}
		times[i] = (now() - start) * 1e6;
	}
	print_times(times, count, now() - begin);
	char nothing;
	while (read(0, &nothing, 1) > 0) continue;
}

int main(int argc, char **argv) {
	if (argc < 7) fail("usage: see the head of ws-client.c");
	struct target target = {strcmp(argv[1], "ttyd") == 0, atoi(argv[2]), argv[3], argv[4]};
	const char *mode = argv[5];
	char **rest = argv + 6;
	int count = argc - 6;
	if (strcmp(mode, "bulk") == 0 && count >= 2) bulk(&target, atof(rest[0]), atof(rest[1]), rest + 2);
	else if (strcmp(mode, "keys") == 0) keys(&target, atoi(rest[0]));
	else if (strcmp(mode, "watch") == 0 && count >= 2) watch(&target, atoi(rest[0]), atof(rest[1]), rest + 2);
	else if (strcmp(mode, "replay") == 0 && count == 3) replay(&target, atof(rest[0]), atof(rest[1]), atoi(rest[2]));
	else if (strcmp(mode, "create") == 0 && count == 3) create(&target, atoi(rest[0]), rest[1], atoi(rest[2]));
	else fail("usage: see the head of ws-client.c");
	return 0;
}
