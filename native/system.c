// Other system functions that Node lacks: safe signals, locks, socket buffers and peers, memory.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <malloc.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include "descriptors.h"
#include "parts.h"
#include "process.h"

// signalGroup(pgid, signo): the caller ensures that the group's leader is not reaped yet.
static napi_value signal_group(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	int group = to_int(env, values[0]);
	if (group < 2) return fail(env, "signal", EINVAL);
	return sent(env, kill(-group, to_int(env, values[1])));
}

// signalProcess(pid, startTime, signo): to exactly that process, or to none.
static napi_value signal_process(napi_env env, napi_callback_info info) {
	napi_value values[3];
	if (!arguments(env, info, 3, values)) return NULL;
	int pid = to_int(env, values[0]);
	double expected = -1;
	to_number(env, values[1], &expected);
	if (pid < 2) return fail(env, "signal", EINVAL);
	return sent(env, signal_exactly(pid, expected, to_int(env, values[2])));
}

// lockFile(path) → fd | null: held until the descriptor is closed or this process ends.
static napi_value lock_file(napi_env env, napi_callback_info info) {
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	char *path = to_string(env, argument);
	if (path == NULL) return fail(env, "lock", EINVAL);
	int fd = lift(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
	int error = errno;
	free(path);
	if (fd < 0) return fail(env, "lock", error);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) return number(env, fd);
	error = errno;
	close(fd);
	return error == EWOULDBLOCK ? null(env) : fail(env, "lock", error);
}

// trimMemory(): returns free memory within the heap to the system, if the C library supports it.
static napi_value trim_memory(napi_env env, napi_callback_info info) {
	(void)env, (void)info;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	return NULL;
}

// growSendBuffer(fd, bytes): the kernel may grant less.
static napi_value grow_send_buffer(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	int bytes = to_int(env, values[1]);
	if (setsockopt(to_int(env, values[0]), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) < 0) return fail(env, "send buffer", errno);
	return NULL;
}

// peerProcess(fd) → pid | null: the process that connected to a Unix socket; null if it is not visible to us.
static napi_value peer_process(napi_env env, napi_callback_info info) {
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(to_int(env, argument), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return fail(env, "peer", errno);
	return peer.pid > 0 ? number(env, peer.pid) : null(env);
}

void add_system(napi_env env, napi_value exports) {
	static const struct function functions[] = {
		{"signalGroup", signal_group},
		{"signalProcess", signal_process},
		{"lockFile", lock_file},
		{"growSendBuffer", grow_send_buffer},
		{"peerProcess", peer_process},
		{"trimMemory", trim_memory},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
