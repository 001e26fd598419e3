// What else Node lacks of the system: signals to the right process, locks, socket buffers, memory.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <malloc.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include "descriptors.h"
#include "parts.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

// signalGroup(pgid, signo): the caller knows that the group's leader was not reaped yet.
static napi_value signal_group(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	int group = to_int(env, values[0]);
	if (group < 2) return fail(env, "signal", EINVAL);
	return sent(env, kill(-group, to_int(env, values[1])));
}

// The start time in clock ticks since boot, which with the pid names a process for ever; 0 when there is none.
static double start_time(int pid) {
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return 0;
	ssize_t length = read(fd, text, sizeof text - 1);
	close(fd);
	if (length <= 0) return 0;
	text[length] = 0;
	// The name, in brackets, may itself hold brackets and blanks; the fields count from its last bracket.
	char *field = strrchr(text, ')');
	for (int i = 2; field != NULL && i < 22; i++) field = strchr(field + 1, ' ');
	return field == NULL ? 0 : strtod(field + 1, NULL);
}

// signalProcess(pid, startTime, signo): to that very process, or to none. The pidfd is opened before the
// comparison: should the pid have passed on in between, the signal goes to the dead one, and nowhere.
static napi_value signal_process(napi_env env, napi_callback_info info) {
	napi_value values[3];
	if (!arguments(env, info, 3, values)) return NULL;
	int pid = to_int(env, values[0]);
	double expected = -1;
	to_number(env, values[1], &expected);
	if (pid < 2) return fail(env, "signal", EINVAL);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) return sent(env, -1);
	int result = -1;
	errno = ESRCH;
	if (start_time(pid) == expected) result = (int)syscall(SYS_pidfd_send_signal, pidfd, to_int(env, values[2]), NULL, 0);
	else errno = ESRCH;
	int error = errno;
	close(pidfd);
	errno = error;
	return sent(env, result);
}

static napi_value subreaper(napi_env env, napi_callback_info info) {
	(void)info;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) return fail(env, "subreaper", errno);
	return NULL;
}

// lockFile(path) → fd | null: held until the descriptor is closed, by us or by our death.
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

// trimMemory(): what was freed in the middle of the heap goes back to the system, where the C library can do that.
static napi_value trim_memory(napi_env env, napi_callback_info info) {
	(void)env, (void)info;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	return NULL;
}

// growSendBuffer(fd, bytes): the kernel grants what its limits allow.
static napi_value grow_send_buffer(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	int bytes = to_int(env, values[1]);
	if (setsockopt(to_int(env, values[0]), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) < 0) return fail(env, "send buffer", errno);
	return NULL;
}

void add_system(napi_env env, napi_value exports) {
	static const struct function functions[] = {
		{"signalGroup", signal_group},
		{"signalProcess", signal_process},
		{"subreaper", subreaper},
		{"lockFile", lock_file},
		{"growSendBuffer", grow_send_buffer},
		{"trimMemory", trim_memory},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
