// A pump: a thread that reads a terminal into a bounded buffer, which the event loop empties.
//
// A terminal delivers output in pieces of 4 KiB and waits until each is read, so its speed is that of the reader. The
// event loop takes some microseconds between two reads, which would cost a quarter of the speed; a dedicated thread takes
// none. A little output wakes the loop at once; a lot wakes it when enough has been collected, and then the loop takes all
// of it.
//
//   terminal ──read, by the thread──▶ store ──take, by the loop──▶ segments of the log
//
// `reading` is held around each read and the publishing of its result: its holder (the thread, or the loop when it drains)
// is the only reader. `state` guards the rest and is never held across a system call that may sleep. Lock order:
// `reading`, then `state`.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <poll.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include "parts.h"

// Limit of the buffer. At the limit nothing is read, and the program waits.
/** @limit terminal output that the event loop has not taken | nothing more is read, and the program waits */
#define STORE_BYTES (512 * 1024)
// Up to this many bytes per window are interactive and reported at once. Chosen by measurement.
#define PROMPT_BYTES (4 * 1024)
#define WINDOW_MS 4
// A terminal fills this in some 3 ms. Each wake-up of the loop takes a core from the terminal, and later steps in a keeper
// and in a server happen once per chunk. With a quarter of this size, the way through a keeper cost half as much again.
#define FULL_BYTES (256 * 1024)

struct pump {
	int fd, wake;
	pthread_t thread;
	napi_threadsafe_function ready;
	pthread_mutex_t reading, state;
	// `length` bytes from `first` on, wrapping around at the end of the buffer.
	uint8_t *store;
	size_t first, length;
	bool paused, closing, joined, ended;
	// Whether the loop was notified and has not taken anything since.
	bool notified;
	// When the waiting bytes arrived, and how many came in the current window.
	int64_t waiting_since, window_start;
	size_t window_bytes;
};

static int64_t milliseconds(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Time until the loop must be notified; -1 if there is nothing to report. With `state`.
static int until_due(struct pump *pump) {
	if (pump->notified || (pump->length == 0 && !pump->ended)) return -1;
	if (pump->ended || pump->length >= FULL_BYTES) return 0;
	int64_t left = pump->waiting_since + WINDOW_MS - milliseconds();
	return left < 0 ? 0 : (int)left;
}

// Notifies the loop if that is due.
static void tell(struct pump *pump) {
	pthread_mutex_lock(&pump->state);
	bool due = until_due(pump) == 0;
	if (due) pump->notified = true;
	pthread_mutex_unlock(&pump->state);
	if (due) napi_call_threadsafe_function(pump->ready, NULL, napi_tsfn_nonblocking);
}

// Adds bytes that were read. With `state`.
static void publish(struct pump *pump, size_t bytes) {
	int64_t now = milliseconds();
	if (now - pump->window_start >= WINDOW_MS) {
		pump->window_start = now;
		pump->window_bytes = 0;
	}
	pump->window_bytes += bytes;
	if (pump->length == 0) pump->waiting_since = pump->window_bytes <= PROMPT_BYTES ? now - WINDOW_MS : now;
	pump->length += bytes;
}

// Reads once into the free part of the buffer; returns whether there may be more. With `reading`.
static bool fill(struct pump *pump) {
	pthread_mutex_lock(&pump->state);
	// An empty buffer starts at its beginning, so that a quiet terminal touches little memory.
	if (pump->length == 0) pump->first = 0;
	size_t end = pump->first + pump->length, at = end % STORE_BYTES;
	size_t room = end < STORE_BYTES ? STORE_BYTES - end : pump->first - at;
	bool wanted = !pump->paused && !pump->closing && !pump->ended && room > 0;
	pthread_mutex_unlock(&pump->state);
	if (!wanted) return false;
	// Only the reader writes there, and taking only frees space.
	ssize_t got = read(pump->fd, pump->store + at, room);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
	pthread_mutex_lock(&pump->state);
	// EIO is the normal end of a terminal. After any error, nothing more can be read.
	if (got <= 0) pump->ended = true;
	else publish(pump, (size_t)got);
	bool full = pump->length >= FULL_BYTES;
	pthread_mutex_unlock(&pump->state);
	return got > 0 && !full;
}

static void *run(void *argument) {
	struct pump *pump = argument;
	for (;;) {
		pthread_mutex_lock(&pump->reading);
		while (fill(pump)) continue;
		pthread_mutex_unlock(&pump->reading);
		tell(pump);

		pthread_mutex_lock(&pump->state);
		bool closing = pump->closing;
		bool wanted = !pump->paused && !pump->ended && pump->length < STORE_BYTES;
		int timeout = until_due(pump);
		pthread_mutex_unlock(&pump->state);
		if (closing) break;
		struct pollfd fds[] = {{.fd = pump->wake, .events = POLLIN}, {.fd = wanted ? pump->fd : -1, .events = POLLIN}};
		if (poll(fds, 2, timeout) < 0) continue;
		uint64_t count;
		if (fds[0].revents != 0 && read(pump->wake, &count, sizeof count) < 0) continue;
	}
	napi_release_threadsafe_function(pump->ready, napi_tsfn_release);
	return NULL;
}

static void wake(struct pump *pump) {
	uint64_t one = 1;
	// It can only fail when it is full, and then the thread is awake.
	if (write(pump->wake, &one, sizeof one) < 0) return;
}

static void free_pump(struct pump *pump) {
	if (pump->fd >= 0) close(pump->fd);
	if (pump->wake >= 0) close(pump->wake);
	pthread_mutex_destroy(&pump->reading);
	pthread_mutex_destroy(&pump->state);
	free(pump->store);
	free(pump);
}

static void begin_close(struct pump *pump) {
	pthread_mutex_lock(&pump->state);
	pump->closing = true;
	pthread_mutex_unlock(&pump->state);
	wake(pump);
}

static void join(struct pump *pump) {
	if (!pump->joined) pthread_join(pump->thread, NULL);
	pump->joined = true;
}

// The environment shuts down with the pump still open.
static void stop(void *argument) {
	struct pump *pump = argument;
	begin_close(pump);
	join(pump);
}

// The thread has ended, so no one uses the pump, and its descriptors may be closed.
static void finalize(napi_env env, void *data, void *hint) {
	(void)hint;
	struct pump *pump = data;
	if (env != NULL) napi_remove_env_cleanup_hook(env, stop, pump);
	join(pump);
	free_pump(pump);
}

static void call(napi_env env, napi_value callback, void *context, void *data) {
	(void)context;
	(void)data;
	if (env == NULL || callback == NULL) return;
	napi_value receiver;
	napi_get_undefined(env, &receiver);
	napi_call_function(env, receiver, callback, 0, NULL, NULL);
}

// openPump(fd, wake, onReady) → pump: takes ownership of the descriptors. Calls back when there is something to take.
static napi_value open_pump(napi_env env, napi_callback_info info) {
	napi_value values[3], name, result;
	if (!arguments(env, info, 3, values)) return NULL;
	struct pump *pump = calloc(1, sizeof *pump);
	if (pump == NULL) return fail(env, "pump", ENOMEM);
	// The descriptors still belong to the caller until the thread runs.
	pump->fd = pump->wake = -1;
	pump->joined = true;
	pump->store = malloc(STORE_BYTES);
	pthread_mutex_init(&pump->reading, NULL);
	pthread_mutex_init(&pump->state, NULL);
	napi_create_string_utf8(env, "hawser pump", NAPI_AUTO_LENGTH, &name);
	if (pump->store == NULL ||
	    napi_create_threadsafe_function(env, values[2], NULL, name, 0, 1, pump, finalize, NULL, call, &pump->ready) != napi_ok) {
		free_pump(pump);
		return fail(env, "pump", ENOMEM);
	}
	pump->fd = to_int(env, values[0]);
	pump->wake = to_int(env, values[1]);
	int error = start_thread(&pump->thread, run, pump);
	if (error != 0) {
		pump->fd = pump->wake = -1;
		napi_release_threadsafe_function(pump->ready, napi_tsfn_abort);
		return fail(env, "pump", error);
	}
	pump->joined = false;
	napi_add_env_cleanup_hook(env, stop, pump);
	napi_create_external(env, pump, NULL, NULL, &result);
	return result;
}

static bool read_arguments(napi_env env, napi_callback_info info, struct pump **pump, uint8_t **bytes, size_t *length) {
	napi_value values[2];
	napi_typedarray_type type;
	if (!arguments(env, info, 2, values)) return false;
	if (napi_get_value_external(env, values[0], (void **)pump) == napi_ok &&
	    napi_get_typedarray_info(env, values[1], &type, length, (void **)bytes, NULL, NULL) == napi_ok && type == napi_uint8_array)
		return true;
	fail(env, "pump", EINVAL);
	return false;
}

// Moves waiting bytes to `bytes`, as many as fit. They are erased here, since they may contain a secret that only the
// caller masks. Only the loop takes bytes, and the thread only appends, so the thread need not wait meanwhile.
static size_t move(struct pump *pump, uint8_t *bytes, size_t length) {
	pthread_mutex_lock(&pump->state);
	size_t first = pump->first, moved = pump->length < length ? pump->length : length;
	pthread_mutex_unlock(&pump->state);
	size_t straight = STORE_BYTES - first < moved ? STORE_BYTES - first : moved;
	memcpy(bytes, pump->store + first, straight);
	memcpy(bytes + straight, pump->store, moved - straight);
	memset(pump->store + first, 0, straight);
	memset(pump->store, 0, moved - straight);
	return moved;
}

// Frees the space of moved bytes. With `state`.
static void forget(struct pump *pump, size_t moved) {
	pump->first = (pump->first + moved) % STORE_BYTES;
	pump->length -= moved;
}

// takePump(pump, bytes) → number of bytes; 0 if none are waiting, -1 at the end. Remaining and later bytes are reported
// again.
static napi_value take_pump(napi_env env, napi_callback_info info) {
	struct pump *pump;
	uint8_t *bytes;
	size_t length;
	if (!read_arguments(env, info, &pump, &bytes, &length)) return NULL;
	size_t moved = move(pump, bytes, length);
	pthread_mutex_lock(&pump->state);
	bool was_full = pump->length == STORE_BYTES;
	forget(pump, moved);
	bool over = moved == 0 && pump->length == 0 && pump->ended;
	// After the end there is nothing left to report.
	pump->notified = over;
	if (pump->length > 0 && pump->window_bytes > PROMPT_BYTES) pump->waiting_since = milliseconds();
	// The thread sleeps indefinitely while the loop is notified, and does not poll its terminal while the buffer is full.
	bool asleep = until_due(pump) >= 0 || was_full;
	pthread_mutex_unlock(&pump->state);
	if (asleep) wake(pump);
	return number(env, over ? -1 : (double)moved);
}

// drainPump(pump, bytes) → number of bytes: the waiting ones first, then those in the kernel; 0 if there are none, -1 at
// the end.
static napi_value drain_pump(napi_env env, napi_callback_info info) {
	struct pump *pump;
	uint8_t *bytes;
	size_t length;
	if (!read_arguments(env, info, &pump, &bytes, &length)) return NULL;
	pthread_mutex_lock(&pump->reading);
	size_t moved = move(pump, bytes, length);
	pthread_mutex_lock(&pump->state);
	forget(pump, moved);
	pthread_mutex_unlock(&pump->state);
	ssize_t got = moved > 0 ? (ssize_t)moved : read(pump->fd, bytes, length);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) got = 0;
	// EIO is the normal end of a terminal. After any other error nothing can be read either.
	else if (got <= 0) got = -1;
	pthread_mutex_unlock(&pump->reading);
	// There may be free space again.
	if (moved > 0) wake(pump);
	return number(env, (double)got);
}

// pausePump(pump, isPaused): while paused, only `drainPump` reads.
static napi_value pause_pump(napi_env env, napi_callback_info info) {
	napi_value values[2];
	struct pump *pump;
	bool paused;
	if (!arguments(env, info, 2, values)) return NULL;
	if (napi_get_value_external(env, values[0], (void **)&pump) != napi_ok || napi_get_value_bool(env, values[1], &paused) != napi_ok)
		return fail(env, "pump", EINVAL);
	pthread_mutex_lock(&pump->state);
	pump->paused = paused;
	pthread_mutex_unlock(&pump->state);
	if (!paused) wake(pump);
	return NULL;
}

// closePump(pump): the pump is unusable afterwards. The descriptor is closed as soon as the thread has ended.
static napi_value close_pump(napi_env env, napi_callback_info info) {
	napi_value argument;
	struct pump *pump;
	if (!arguments(env, info, 1, &argument)) return NULL;
	if (napi_get_value_external(env, argument, (void **)&pump) != napi_ok) return fail(env, "pump", EINVAL);
	begin_close(pump);
	return NULL;
}

void add_pump(napi_env env, napi_value exports) {
	static const struct function functions[] = {
		{"openPump", open_pump}, {"takePump", take_pump}, {"drainPump", drain_pump}, {"pausePump", pause_pump}, {"closePump", close_pump},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
