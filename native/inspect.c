// Inspects programs without blocking the event loop: each inspection has its own thread.
//
// Most take some hundred microseconds. But the kernel may have to load a page of the program's memory first, and a
// program can make that take forever. Then only this thread waits. The caller limits the number of inspections.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "look.h"
#include "parts.h"

struct inspection {
	int fd;
	pid_t root;
	napi_threadsafe_function done;
	struct sight sight;
};

static void finish(struct inspection *inspection) {
	if (inspection->fd >= 0) close(inspection->fd);
	free(inspection);
}

static void *run(void *argument) {
	struct inspection *inspection = argument;
	look(inspection->fd, inspection->root, &inspection->sight);
	napi_threadsafe_function done = inspection->done;
	// While the environment shuts down, the call fails and its function is gone.
	napi_status status = napi_call_threadsafe_function(done, inspection, napi_tsfn_nonblocking);
	if (status != napi_ok) finish(inspection);
	if (status != napi_closing) napi_release_threadsafe_function(done, napi_tsfn_release);
	return NULL;
}

static napi_value text(napi_env env, const char *value) {
	napi_value result;
	if (value[0] == 0) return null(env);
	napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result);
	return result;
}

// The arguments, each ended by a zero byte. The last one may be truncated.
static napi_value texts(napi_env env, const char *bytes, size_t length) {
	napi_value result, one;
	napi_create_array(env, &result);
	uint32_t count = 0;
	for (size_t from = 0; from < length; from += strlen(bytes + from) + 1) {
		napi_create_string_utf8(env, bytes + from, NAPI_AUTO_LENGTH, &one);
		napi_set_element(env, result, count++, one);
	}
	return result;
}

// Boolean members of a sight, by their names in `ProcessSnapshot` of core/process/process-snapshot.ts.
static const struct { const char *name; size_t place; } FLAGS[] = {
	{"hasTerminal", offsetof(struct sight, has_terminal)},
	{"isInner", offsetof(struct sight, is_inner)},
	{"isSplit", offsetof(struct sight, is_split)},
	{"canonical", offsetof(struct sight, canonical)},
	{"echo", offsetof(struct sight, echo)},
	{"runs", offsetof(struct sight, runs)},
	{"reads", offsetof(struct sight, reads)},
	{"writes", offsetof(struct sight, writes)},
	{"listens", offsetof(struct sight, listens)},
	{"isOnDisk", offsetof(struct sight, on_disk)},
	{"isStopped", offsetof(struct sight, stopped)},
	{"isDenied", offsetof(struct sight, denied)},
};

static void hand_over(napi_env env, napi_value callback, void *context, void *argument) {
	(void)context;
	struct inspection *inspection = argument;
	if (env != NULL && callback != NULL) {
		struct sight *sight = &inspection->sight;
		napi_value receiver, result;
		napi_get_undefined(env, &receiver);
		napi_create_object(env, &result);
		for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
			set(env, result, FLAGS[i].name, boolean(env, *(const bool *)((const char *)sight + FLAGS[i].place)));
		set(env, result, "unread", number(env, sight->unread));
		set(env, result, "processes", number(env, sight->processes));
		set(env, result, "pid", sight->pid == 0 ? null(env) : number(env, sight->pid));
		set(env, result, "image", text(env, sight->image));
		set(env, result, "program", text(env, sight->name));
		set(env, result, "cwd", text(env, sight->cwd));
		set(env, result, "call", text(env, sight->call));
		set(env, result, "depth", sight->depth == 0 ? null(env) : number(env, (double)sight->depth));
		set(env, result, "argv", texts(env, sight->arguments, sight->arguments_length));
		napi_call_function(env, receiver, callback, 1, &result, NULL);
	}
	finish(inspection);
}

// inspect(fd, root, done): inspects the process that reads from our end `fd` (-1: it is closed), below the process `root`.
static napi_value inspect(napi_env env, napi_callback_info info) {
	napi_value values[3], name;
	if (!arguments(env, info, 3, values)) return NULL;
	struct inspection *inspection = calloc(1, sizeof *inspection);
	if (inspection == NULL) return fail(env, "inspect", ENOMEM);
	int fd = to_int(env, values[0]);
	// A copy, since the event loop may close its own meanwhile.
	inspection->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	inspection->root = to_int(env, values[1]);
	int error = fd >= 0 && inspection->fd < 0 ? errno : 0;
	pthread_t thread;
	napi_create_string_utf8(env, "hawser", NAPI_AUTO_LENGTH, &name);
	if (error == 0 && napi_create_threadsafe_function(env, values[2], NULL, name, 0, 1, NULL, NULL, NULL, hand_over, &inspection->done) != napi_ok) error = ENOMEM;
	else if (error == 0) {
		napi_unref_threadsafe_function(env, inspection->done);
		error = start_thread(&thread, run, inspection);
		if (error == 0) pthread_detach(thread);
		else napi_release_threadsafe_function(inspection->done, napi_tsfn_abort);
	}
	if (error == 0) return NULL;
	finish(inspection);
	return fail(env, "inspect", error);
}

void add_inspect(napi_env env, napi_value exports) {
	static const struct function functions[] = {{"inspect", inspect}};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
