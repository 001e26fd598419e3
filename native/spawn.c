// Starts programs: through a minder on a terminal or pipes, and detached ones that outlive us.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include "descriptors.h"
#include "minder.h"
#include "parts.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
// Lets a fast program run ahead of a busy event loop. On a noisy machine, reading reached 1.2 to 2.7 GB/s with this size,
// 1.0 to 1.8 with the usual 64 KiB, and 1.9 to 2.3 with 1 MiB. All pipes of a user share a budget (pipe-user-pages-soft),
// beyond which new ones get only a page or two. So it is not larger, and for stdout only.
#define PIPE_BYTES (256 * 1024)

static void free_strings(char **strings) {
	if (strings == NULL) return;
	for (char **each = strings; *each != NULL; each++) free(*each);
	free(strings);
}

static char **to_strings(napi_env env, napi_value array) {
	uint32_t length = 0;
	if (napi_get_array_length(env, array, &length) != napi_ok) return NULL;
	char **strings = calloc((size_t)length + 1, sizeof *strings);
	for (uint32_t i = 0; strings != NULL && i < length; i++) {
		napi_value value;
		napi_get_element(env, array, i, &value);
		strings[i] = to_string(env, value);
		if (strings[i] == NULL) {
			free_strings(strings);
			return NULL;
		}
	}
	return strings;
}

// Everything that the child needs, prepared in advance: it may neither allocate nor lock. `error` is its result, written
// to the memory that it shares with us until its exec.
struct launch {
	char *file, **argv, **env;
	int fds[3]; // becomes its 0, 1 and 2; -1 for none
	int highest;
	volatile int error;
};

// Runs between vfork and exec, on our stack and in our memory.
static _Noreturn void child(struct launch *launch) {
	struct sigaction plain = {.sa_handler = SIG_DFL};
	for (int signo = 1; signo < _NSIG; signo++) sigaction(signo, &plain, NULL);
	int count = 0;
	bool is_ready = setsid() >= 0 && chdir("/") >= 0;
	for (; is_ready && count < 3 && launch->fds[count] >= 0; count++) is_ready = dup2(launch->fds[count], count) >= 0;
	if (is_ready && syscall(SYS_close_range, count, ~0U, 0) < 0)
		for (int fd = count; fd < launch->highest; fd++) close(fd);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (is_ready) execve(launch->file, launch->argv, launch->env);
	launch->error = errno;
	_exit(127);
}

// A separate function, so that no variable of the caller is live across the second return of vfork.
static __attribute__((noinline)) pid_t fork_child(struct launch *launch) {
	pid_t pid = vfork();
	if (pid == 0) child(launch);
	return pid;
}

// Runs the child up to its exec. Returns its pid, or -1 with `error` set.
static pid_t start_child(struct launch *launch) {
	struct rlimit open_files;
	launch->highest = getrlimit(RLIMIT_NOFILE, &open_files) == 0 && open_files.rlim_cur < 1 << 20 ? (int)open_files.rlim_cur : 1 << 20;
	sigset_t all, before;
	sigfillset(&all);
	// None of our signal handlers may run in the child, where it would change our memory.
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork_child(launch);
	int error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) launch->error = error;
	if (launch->error == 0) return pid;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
	return -1;
}

// Our ends: for writing, for reading, the terminal's other side, which is kept open, and the descriptor that wakes its pump.
struct ends { int input, output, error, slave, wake; };

static bool open_terminal(int *given, struct ends *ends, struct winsize *size) {
	ends->input = lift(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
	if (ends->input < 0) return false;
	int unlock = 0;
	if (ioctl(ends->input, TIOCSPTLCK, &unlock) < 0) return false;
	ends->slave = ioctl(ends->input, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends->slave < 0) {
		char name[64];
		if (ptsname_r(ends->input, name, sizeof name) != 0) return false;
		ends->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	}
	ends->slave = lift(ends->slave);
	if (ends->slave < 0) return false;
	// Opened now, so that a shortage of descriptors shows before the program starts.
	ends->wake = lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (ends->wake < 0) return false;
	// The reader gets its own descriptor, so that closing one does not affect a wait on the other.
	ends->output = fcntl(ends->input, F_DUPFD_CLOEXEC, 3);
	if (ends->output < 0 || ioctl(ends->input, TIOCSWINSZ, size) < 0) return false;
	struct termios modes;
	if (tcgetattr(ends->slave, &modes) == 0) {
		modes.c_iflag |= IUTF8;
		tcsetattr(ends->slave, TCSANOW, &modes);
	}
	given[0] = given[1] = given[2] = ends->slave;
	return true;
}

// `ours` is the end that we keep: 0 to read, 1 to write.
static bool open_pipe(int *kept, int *given, int ours) {
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0) return false;
	*kept = lift(fds[ours]);
	*given = lift(fds[1 - ours]);
	if (*kept < 0 || *given < 0) return false;
	return fcntl(*kept, F_SETFL, O_NONBLOCK) == 0;
}

static bool open_pipes(int *given, struct ends *ends, bool empty_input, bool one_output) {
	if (empty_input) {
		given[0] = lift(open("/dev/null", O_RDONLY | O_CLOEXEC));
		if (given[0] < 0) return false;
	} else if (!open_pipe(&ends->input, &given[0], 1)) return false;
	if (!open_pipe(&ends->output, &given[1], 0)) return false;
	if (one_output) given[2] = fcntl(given[1], F_DUPFD_CLOEXEC, 3);
	else if (!open_pipe(&ends->error, &given[2], 0)) return false;
	if (given[2] < 0) return false;
	fcntl(ends->output, F_SETPIPE_SZ, PIPE_BYTES); // The kernel may refuse; then the size does not change.
	return true;
}

static bool open_sockets(int *sockets) {
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) return false;
	sockets[0] = lift(sockets[0]);
	sockets[1] = lift(sockets[1]);
	return sockets[0] >= 0 && sockets[1] >= 0;
}

static bool open_stdio(napi_env env, napi_value options, int *given, struct ends *ends) {
	if (get_int(env, options, "terminal", 0) == 0)
		return open_pipes(given, ends, get_int(env, options, "emptyInput", 0) != 0, get_int(env, options, "oneOutput", 0) != 0);
	struct winsize size = {.ws_col = (unsigned short)get_int(env, options, "cols", 80), .ws_row = (unsigned short)get_int(env, options, "rows", 24)};
	return open_terminal(given, ends, &size);
}

// openNursery(path, ahead) → { pid, orders }: starts the parent of minders. `orders` is our end of its socket.
static napi_value open_nursery(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	char *file = to_string(env, values[0]), ahead[12];
	if (file == NULL) return fail(env, "minder", EINVAL);
	snprintf(ahead, sizeof ahead, "%d", to_int(env, values[1]));
	int sockets[2] = {-1, -1};
	pid_t pid = -1;
	// Its name contains nothing of a program, so that a search for a program by its arguments does not find it.
	struct launch launch = {.file = file, .argv = (char *[]){"hawser-minder", ahead, NULL}, .env = (char *[]){MINDER_MARK MINDER_BLANKS, NULL}, .fds = {-1, -1, -1}};
	if (!open_sockets(sockets)) launch.error = errno;
	else {
		launch.fds[0] = sockets[1];
		pid = start_child(&launch);
	}
	free(file);
	shut(&sockets[1]);
	if (pid < 0) {
		shut(&sockets[0]);
		return fail(env, "minder", launch.error);
	}
	napi_value result;
	napi_create_object(env, &result);
	set(env, result, "pid", number(env, pid));
	set(env, result, "orders", number(env, sockets[0]));
	return result;
}

// A memory file, because an order may be longer than a packet.
static int write_order(napi_env env, napi_value order) {
	char *bytes;
	size_t length;
	napi_typedarray_type type;
	errno = EINVAL;
	if (napi_get_typedarray_info(env, order, &type, &length, (void **)&bytes, NULL, NULL) != napi_ok || type != napi_uint8_array) return -1;
	int fd = lift(memfd_create("hawser order", MFD_CLOEXEC));
	for (ssize_t count; fd >= 0 && length > 0; bytes += count, length -= (size_t)count) {
		count = write(fd, bytes, length);
		if (count < 0) {
			shut(&fd);
			break;
		}
	}
	return fd;
}

static bool send_order(int orders, const int *given) {
	char byte = 0;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(ORDER_FDS * sizeof *given)];
	} room = {0};
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(ORDER_FDS * sizeof *given);
	memcpy(CMSG_DATA(header), given, ORDER_FDS * sizeof *given);
	// Blocks while the nursery is behind with many orders. The nursery never waits for us.
	return sendmsg(orders, &message, MSG_NOSIGNAL) == 1;
}

// order(orders, { order, terminal, cols, rows, emptyInput, oneOutput }) → { control, input, output, error, slave, wake }:
// our ends. The minder reports the program's pid, or why it was not started, over `control`.
static napi_value order_program(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	int given[ORDER_FDS] = {-1, -1, -1, -1, -1}, sockets[2] = {-1, -1};
	struct ends ends = {-1, -1, -1, -1, -1};
	const char *step = "stdio";
	bool is_sent = false;
	if (open_stdio(env, values[1], given + ORDER_STDIO, &ends) && open_sockets(sockets) &&
	    (given[ORDER_TEXT] = write_order(env, get(env, values[1], "order"))) >= 0) {
		step = "minder";
		given[ORDER_CONTROL] = sockets[1];
		is_sent = send_order(to_int(env, values[0]), given);
	}
	int error = errno;
	for (int i = 0; i < 3 && ends.slave < 0; i++) shut(&given[ORDER_STDIO + i]);
	shut(&given[ORDER_TEXT]);
	shut(&sockets[1]);
	if (!is_sent) {
		for (int *fd = (int *)&ends; fd < (int *)(&ends + 1); fd++) shut(fd);
		shut(&sockets[0]);
		return fail(env, step, error);
	}
	napi_value result;
	napi_create_object(env, &result);
	set(env, result, "control", number(env, sockets[0]));
	set(env, result, "input", number(env, ends.input));
	set(env, result, "output", number(env, ends.output));
	set(env, result, "error", number(env, ends.error));
	set(env, result, "slave", number(env, ends.slave));
	set(env, result, "wake", number(env, ends.wake));
	return result;
}

// hearMinder(control) → null | { kind, value, other, step }: the next message; kind 0 if the minder is gone.
static napi_value hear_minder(napi_env env, napi_callback_info info) {
	static const char *const steps[] = STEP_NAMES;
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	int fd = to_int(env, argument);
	struct minder_message message;
	ssize_t length;
	// The minder ended without reading all our messages. The error occurs once, before its own messages.
	do length = recv(fd, &message, sizeof message, MSG_DONTWAIT);
	while (length < 0 && (errno == ECONNRESET || errno == EINTR));
	if (length < 0 && errno == EAGAIN) return null(env);
	if (length < 0) return fail(env, "minder", errno);
	if (length != sizeof message) message = (struct minder_message){0};
	napi_value result, step;
	napi_create_object(env, &result);
	set(env, result, "kind", number(env, message.kind));
	set(env, result, "value", number(env, message.value));
	set(env, result, "other", number(env, message.other));
	if (message.kind == MINDER_FAILED && message.value >= 0 && message.value < (int)(sizeof steps / sizeof *steps)) {
		napi_create_string_utf8(env, steps[message.value], NAPI_AUTO_LENGTH, &step);
		set(env, result, "step", step);
	}
	return result;
}

// tellMinder(control, kind, value) → whether the minder is still there.
static napi_value tell_minder(napi_env env, napi_callback_info info) {
	napi_value values[3];
	if (!arguments(env, info, 3, values)) return NULL;
	struct minder_message message = {to_int(env, values[1]), to_int(env, values[2]), 0};
	return boolean(env, send(to_int(env, values[0]), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0);
}

// startDetached({ argv, env, output }) → { pid, pidfd }: starts a program that outlives us, with no input and, unless
// `output` is given, no output.
static napi_value start_detached(napi_env env, napi_callback_info info) {
	napi_value options;
	if (!arguments(env, info, 1, &options)) return NULL;
	char **argv = to_strings(env, get(env, options, "argv")), **environment = to_strings(env, get(env, options, "env"));
	int output = get_int(env, options, "output", -1);
	struct launch launch = {.argv = argv, .env = environment, .fds = {-1, -1, -1}, .error = EINVAL};
	pid_t pid = -1;
	int pidfd = -1;
	const char *step = "arguments";
	if (argv != NULL && argv[0] != NULL && environment != NULL) {
		launch.file = argv[0];
		launch.fds[0] = lift(open("/dev/null", O_RDWR | O_CLOEXEC));
		// Not after a failure, so that the first error is reported.
		if (launch.fds[0] >= 0) launch.fds[1] = fcntl(output < 0 ? launch.fds[0] : output, F_DUPFD_CLOEXEC, 3);
		if (launch.fds[1] >= 0) launch.fds[2] = fcntl(launch.fds[1], F_DUPFD_CLOEXEC, 3);
		step = "stdio";
		launch.error = launch.fds[2] < 0 ? errno : 0;
	}
	if (launch.error == 0) {
		step = "exec";
		pid = start_child(&launch);
	}
	if (pid > 0 && (pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) < 0) {
		step = "pidfd";
		launch.error = errno;
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
	}
	for (int i = 0; i < 3; i++) shut(&launch.fds[i]);
	free_strings(argv);
	free_strings(environment);
	if (launch.error != 0) return fail(env, step, launch.error);
	napi_value result;
	napi_create_object(env, &result);
	set(env, result, "pid", number(env, pid));
	set(env, result, "pidfd", number(env, pidfd));
	return result;
}

// wait(pid) → null | { pid, code, signal }: reaps one child if it has ended; any child for -1.
static napi_value wait_child(napi_env env, napi_callback_info info) {
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	int status = 0;
	int wanted = to_int(env, argument);
	pid_t pid = waitpid(wanted, &status, WNOHANG);
	if (pid == 0 || (pid < 0 && errno == ECHILD && wanted == -1)) return null(env);
	if (pid < 0) return fail(env, "wait", errno);
	napi_value result;
	napi_create_object(env, &result);
	set(env, result, "pid", number(env, pid));
	set(env, result, "code", WIFEXITED(status) ? number(env, WEXITSTATUS(status)) : null(env));
	set(env, result, "signal", WIFSIGNALED(status) ? number(env, WTERMSIG(status)) : null(env));
	return result;
}

void add_spawn(napi_env env, napi_value exports) {
	static const struct function functions[] = {
		{"openNursery", open_nursery},
		{"order", order_program},
		{"hearMinder", hear_minder},
		{"tellMinder", tell_minder},
		{"startDetached", start_detached},
		{"wait", wait_child},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
