// A pump: a thread that reads a terminal into a bounded store, from which the event loop takes it.
//
// A terminal gives its output in pieces of 4 KiB and waits until each is read, so that its speed is that of
// whoever reads. The event loop takes some microseconds between two reads, which cost a quarter of it; a thread
// that does nothing else takes none. The loop is woken for little output at once, and for much of it when
// enough has come together; it then takes all of that in one go.
//
//   terminal ──read, by the thread──▶ store ──take, by the loop──▶ segments of the log
//
// `reading` is held around each read and the publishing of what it gave: whoever has it (the thread, or the
// loop when it drains) is the only reader. `state` guards the rest, and is never held across a system call
// that may sleep. The order is `reading`, then `state`.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <poll.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include "parts.h"

// What may wait for the loop; at this bound nothing is read, and the program waits.
#define STORE_BYTES (512 * 1024)
// Up to this many bytes per window are somebody typing, and are told at once. Chosen by measurement.
#define PROMPT_BYTES (4 * 1024)
#define WINDOW_MS 4
// A terminal fills this in some 3 ms. Each time the loop is woken it takes a core from the terminal, and whatever
// is done with a chunk, in a keeper and then in a server, is done once: with a quarter of this the way through a
// keeper cost half as much again.
#define FULL_BYTES (256 * 1024)

struct pump {
	int fd, wake;
	pthread_t thread;
	napi_threadsafe_function ready;
	pthread_mutex_t reading, state;
	// Bytes from `first` on, `length` of them, around the end of the store.
	uint8_t *store;
	size_t first, length;
	bool paused, closing, joined, ended;
	// Whether the loop was told, and has not taken anything since.
	bool told;
	// When what waits began to, and how much came in the current window.
	int64_t waiting_since, window_start;
	size_t window_bytes;
};

static int64_t milliseconds(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// How long until the loop must be told of what waits; -1 when there is nothing to tell. With `state`.
static int until_due(struct pump *pump) {
	if (pump->told || (pump->length == 0 && !pump->ended)) return -1;
	if (pump->ended || pump->length >= FULL_BYTES) return 0;
	int64_t left = pump->waiting_since + WINDOW_MS - milliseconds();
	return left < 0 ? 0 : (int)left;
}

// Tells the loop, if that is due.
static void tell(struct pump *pump) {
	pthread_mutex_lock(&pump->state);
	bool due = until_due(pump) == 0;
	if (due) pump->told = true;
	pthread_mutex_unlock(&pump->state);
	if (due) napi_call_threadsafe_function(pump->ready, NULL, napi_tsfn_nonblocking);
}

// Adds what was read to what waits. With `state`.
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

// Reads once into the free part of the store; whether there may be more. With `reading`.
static bool fill(struct pump *pump) {
	pthread_mutex_lock(&pump->state);
	// An empty store begins anew, so that a terminal on which little happens touches little memory.
	if (pump->length == 0) pump->first = 0;
	size_t end = pump->first + pump->length, at = end % STORE_BYTES;
	size_t room = end < STORE_BYTES ? STORE_BYTES - end : pump->first - at;
	bool wanted = !pump->paused && !pump->closing && !pump->ended && room > 0;
	pthread_mutex_unlock(&pump->state);
	if (!wanted) return false;
	// Only the one who reads writes there, and taking only makes more room.
	ssize_t got = read(pump->fd, pump->store + at, room);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
	pthread_mutex_lock(&pump->state);
	// EIO is how a terminal ends; whatever the error, nothing more can be read.
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
	// It can only be full, and then the thread has been woken.
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

// The environment goes away with the pump still open.
static void stop(void *argument) {
	struct pump *pump = argument;
	begin_close(pump);
	join(pump);
}

// The thread has let go: nobody can touch the pump any more, and only now may its descriptor be another's.
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

// openPump(fd, wake, onReady) → pump: the descriptors become the pump's own. Calls back when there is something to take.
static napi_value open_pump(napi_env env, napi_callback_info info) {
	napi_value values[3], name, result;
	if (!arguments(env, info, 3, values)) return NULL;
	struct pump *pump = calloc(1, sizeof *pump);
	if (pump == NULL) return fail(env, "pump", ENOMEM);
	// The caller's, as long as there is no thread that uses them.
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

// Moves what waits to `bytes`, as much as fits. Nothing of it stays, for a secret may be in it, which only whoever takes
// it can mask. Only the loop takes, and the thread only adds behind, so that it need not wait meanwhile.
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

// Makes room of what was moved. With `state`.
static void forget(struct pump *pump, size_t moved) {
	pump->first = (pump->first + moved) % STORE_BYTES;
	pump->length -= moved;
}

// takePump(pump, bytes) → how many came; 0 when nothing waits, -1 when nothing will ever come again. What is left,
// and what comes, is told of again.
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
	// After the end nobody has to be told any more.
	pump->told = over;
	if (pump->length > 0 && pump->window_bytes > PROMPT_BYTES) pump->waiting_since = milliseconds();
	// The thread sleeps without a limit while we are told, and without its terminal while the store is full.
	bool asleep = until_due(pump) >= 0 || was_full;
	pthread_mutex_unlock(&pump->state);
	if (asleep) wake(pump);
	return number(env, over ? -1 : (double)moved);
}

// drainPump(pump, bytes) → how many came: what waits, and when that is all, what the kernel holds now; 0 when it holds
// nothing, -1 when nothing will ever come again.
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
	// EIO is how a terminal ends, and nothing more can be read after any other error.
	else if (got <= 0) got = -1;
	pthread_mutex_unlock(&pump->reading);
	// There may be room again.
	if (moved > 0) wake(pump);
	return number(env, (double)got);
}

// pausePump(pump, isPaused): while it is, nothing is read but what `drainPump` reads.
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

// closePump(pump): of no use after it. The descriptor is closed as soon as the thread has let go of it.
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
