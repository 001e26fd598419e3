// Starts a program on a terminal, on real pipes or on nothing, in a session of its own, and reaps it.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include "descriptors.h"
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
#ifdef SYS_setuid32
#define SETUID SYS_setuid32
#define SETGID SYS_setgid32
#define SETGROUPS SYS_setgroups32
#else
#define SETUID SYS_setuid
#define SETGID SYS_setgid
#define SETGROUPS SYS_setgroups
#endif

// Lets a fast program run ahead of a busy event loop. On a noisy machine it read 1.2 to 2.7 GB/s with this,
// 1.0 to 1.8 with the usual 64 KiB, 1.9 to 2.3 with 1 MiB. All pipes of a user share a budget
// (pipe-user-pages-soft), past which new ones get only a page or two: so no more than this, and for stdout only.
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

static const struct { const char *name; int resource; } LIMITS[] = {
	{"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"as", RLIMIT_AS},
	{"core", RLIMIT_CORE},     {"fsize", RLIMIT_FSIZE}, {"cpu", RLIMIT_CPU},
};
#define LIMIT_COUNT (sizeof LIMITS / sizeof *LIMITS)

// All that the child needs, made before it exists: it may neither allocate nor lock. `step` and `error` are
// its answer, written into the memory it shares with us until it execs.
struct start {
	char **files, **argv, **script, **env;
	char *cwd;
	int stdio[3];
	bool terminal;
	int uid, gid; // -1: as we are
	gid_t *groups; // what a change of user gives besides; none, when left out
	size_t group_count;
	bool limited[LIMIT_COUNT];
	struct rlimit limits[LIMIT_COUNT];
	int highest;
	const char *volatile step;
	volatile int error;
};

static _Noreturn void give_up(struct start *start, const char *step, int error) {
	start->error = error;
	start->step = step;
	_exit(127);
}

// As execvp does: a candidate that is missing is passed over, one that is forbidden is remembered, and a
// text file without a #! line is given to the shell.
static _Noreturn void execute(struct start *start) {
	int error = ENOENT;
	for (char **file = start->files; *file != NULL; file++) {
		execve(*file, start->argv, start->env);
		if (errno == ENOEXEC) {
			start->script[1] = *file;
			execve(start->script[0], start->script, start->env);
		}
		if (errno == EACCES) error = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR) give_up(start, "exec", errno);
	}
	give_up(start, "exec", error);
}

// Between vfork and exec, on our stack and in our memory: raw calls only, and never glibc's setuid family,
// which would try to change the other threads of the process whose memory this still is.
static _Noreturn void child(struct start *start) {
	struct sigaction plain = {.sa_handler = SIG_DFL};
	for (int signo = 1; signo < _NSIG; signo++) sigaction(signo, &plain, NULL);
	if (setsid() < 0) give_up(start, "setsid", errno);
	if (start->terminal && ioctl(start->stdio[0], TIOCSCTTY, 0) < 0) give_up(start, "pty", errno);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(start->stdio[fd], fd) < 0) give_up(start, "stdio", errno);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (start->limited[i] && setrlimit(LIMITS[i].resource, &start->limits[i]) < 0) give_up(start, "limits", errno);
	if (start->uid >= 0 || start->gid >= 0)
		if (syscall(SETGROUPS, start->group_count, start->groups) < 0) give_up(start, "setgroups", errno);
	if (start->gid >= 0 && syscall(SETGID, start->gid) < 0) give_up(start, "setgid", errno);
	if (start->uid >= 0 && syscall(SETUID, start->uid) < 0) give_up(start, "setuid", errno);
	// After the change of user, who may not be allowed where we are.
	if (chdir(start->cwd) < 0) give_up(start, "chdir", errno);
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0)
		for (int fd = 3; fd < start->highest; fd++) close(fd);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execute(start);
}

// Apart, so that no variable of the caller lives across the second return of vfork.
static __attribute__((noinline)) pid_t fork_child(struct start *start) {
	pid_t pid = vfork();
	if (pid == 0) child(start);
	return pid;
}

// Runs the child up to its exec; returns its pid, or -1 with `step` and `error` set.
static pid_t launch(struct start *start) {
	sigset_t all, before;
	sigfillset(&all);
	int dumpable = prctl(PR_GET_DUMPABLE);
	// No handler of ours may run in the child, where it would act on our memory.
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork_child(start);
	int error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	// The child's setuid made the memory that we shared undumpable: rightly until its exec, for ever otherwise.
	if (start->uid >= 0 || start->gid >= 0) prctl(PR_SET_DUMPABLE, dumpable == 1 ? 1 : 0);
	if (pid < 0) {
		start->step = "fork";
		start->error = error;
		return -1;
	}
	if (start->step == NULL) return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
	return -1;
}

// Our ends: what we write to, what we read from, and for a terminal its other side, held open, and what wakes its pump.
struct ends { int input, output, error, slave, wake; };

static bool open_terminal(struct start *start, struct ends *ends, struct winsize *size) {
	start->step = "pty";
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
	// Now, so that a shortage of descriptors shows before there is a program.
	ends->wake = lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (ends->wake < 0) return false;
	// The reader gets a descriptor of its own, so that no close of one can pull the other from under a wait.
	ends->output = fcntl(ends->input, F_DUPFD_CLOEXEC, 3);
	if (ends->output < 0 || ioctl(ends->input, TIOCSWINSZ, size) < 0) return false;
	struct termios modes;
	if (tcgetattr(ends->slave, &modes) == 0) {
		modes.c_iflag |= IUTF8;
		tcsetattr(ends->slave, TCSANOW, &modes);
	}
	if (start->uid >= 0 && fchown(ends->slave, (uid_t)start->uid, (gid_t)-1) < 0 && errno != EPERM) return false;
	start->stdio[0] = start->stdio[1] = start->stdio[2] = ends->slave;
	start->terminal = true;
	start->step = NULL;
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

static bool open_pipes(struct start *start, struct ends *ends, bool empty_input, bool one_output) {
	start->step = "pipe";
	if (empty_input) {
		start->stdio[0] = lift(open("/dev/null", O_RDONLY | O_CLOEXEC));
		if (start->stdio[0] < 0) return false;
	} else if (!open_pipe(&ends->input, &start->stdio[0], 1)) return false;
	if (!open_pipe(&ends->output, &start->stdio[1], 0)) return false;
	if (one_output) start->stdio[2] = fcntl(start->stdio[1], F_DUPFD_CLOEXEC, 3);
	else if (!open_pipe(&ends->error, &start->stdio[2], 0)) return false;
	if (start->stdio[2] < 0) return false;
	fcntl(ends->output, F_SETPIPE_SZ, PIPE_BYTES); // The kernel may refuse; then it stays as it is.
	start->step = NULL;
	return true;
}

// Nothing to read and, unless a descriptor was given, nowhere to write: for a program that outlives us.
static bool open_nothing(struct start *start, int output) {
	start->step = "stdio";
	start->stdio[0] = lift(open("/dev/null", O_RDWR | O_CLOEXEC));
	start->stdio[1] = output < 0 ? fcntl(start->stdio[0], F_DUPFD_CLOEXEC, 3) : fcntl(output, F_DUPFD_CLOEXEC, 3);
	start->stdio[2] = fcntl(start->stdio[1], F_DUPFD_CLOEXEC, 3);
	if (start->stdio[0] < 0 || start->stdio[1] < 0 || start->stdio[2] < 0) return false;
	start->step = NULL;
	return true;
}

static bool read_groups(napi_env env, napi_value groups, struct start *start) {
	uint32_t length = 0;
	if (napi_get_array_length(env, groups, &length) != napi_ok || length == 0) return true;
	start->groups = calloc(length, sizeof *start->groups);
	if (start->groups == NULL) return false;
	start->group_count = length;
	for (uint32_t i = 0; i < length; i++) {
		napi_value value;
		double group;
		napi_get_element(env, groups, i, &value);
		if (!to_number(env, value, &group)) return false;
		start->groups[i] = (gid_t)group;
	}
	return true;
}

static bool read_start(napi_env env, napi_value options, struct start *start) {
	start->files = to_strings(env, get(env, options, "files"));
	start->argv = to_strings(env, get(env, options, "argv"));
	start->env = to_strings(env, get(env, options, "env"));
	start->cwd = to_string(env, get(env, options, "cwd"));
	if (!start->files || !start->argv || !start->argv[0] || !start->env || !start->cwd) return false;
	size_t count = 0;
	while (start->argv[count] != NULL) count++;
	start->script = calloc(count + 2, sizeof *start->script);
	if (start->script == NULL) return false;
	start->script[0] = "/bin/sh";
	memcpy(start->script + 2, start->argv + 1, count * sizeof *start->argv);
	// Asking for what we are already is no change, and needs no privilege.
	start->uid = get_int(env, options, "uid", -1);
	start->gid = get_int(env, options, "gid", -1);
	if (start->uid == (int)geteuid()) start->uid = -1;
	if (start->gid == (int)getegid()) start->gid = -1;
	if (!read_groups(env, get(env, options, "groups"), start)) return false;
	napi_value limits = get(env, options, "limits");
	napi_valuetype type = napi_undefined;
	napi_typeof(env, limits, &type);
	for (size_t i = 0; type == napi_object && i < LIMIT_COUNT; i++) {
		double value;
		if (!to_number(env, get(env, limits, LIMITS[i].name), &value)) continue;
		start->limited[i] = true;
		start->limits[i].rlim_cur = start->limits[i].rlim_max = (rlim_t)value;
	}
	struct rlimit open_files;
	start->highest = getrlimit(RLIMIT_NOFILE, &open_files) == 0 && open_files.rlim_cur < 1 << 20 ? (int)open_files.rlim_cur : 1 << 20;
	return true;
}

static bool open_stdio(napi_env env, napi_value options, struct start *start, struct ends *ends) {
	char *kind = to_string(env, get(env, options, "stdio"));
	bool opened = false;
	if (kind != NULL && strcmp(kind, "pty") == 0) {
		struct winsize size = {.ws_col = (unsigned short)get_int(env, options, "cols", 80), .ws_row = (unsigned short)get_int(env, options, "rows", 24)};
		opened = open_terminal(start, ends, &size);
	} else if (kind != NULL && strcmp(kind, "pipe") == 0) {
		opened = open_pipes(start, ends, get_int(env, options, "emptyInput", 0) != 0, get_int(env, options, "oneOutput", 0) != 0);
	} else {
		opened = open_nothing(start, get_int(env, options, "output", -1));
	}
	if (!opened) start->error = errno;
	free(kind);
	return opened;
}

static napi_value spawn(napi_env env, napi_callback_info info) {
	napi_value options;
	if (!arguments(env, info, 1, &options)) return NULL;
	struct start start = {.stdio = {-1, -1, -1}};
	struct ends ends = {-1, -1, -1, -1, -1};
	pid_t pid = -1;
	int pidfd = -1;
	if (!read_start(env, options, &start)) {
		start.step = "arguments";
		start.error = EINVAL;
	} else if (open_stdio(env, options, &start, &ends) && (pid = launch(&start)) > 0) {
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pidfd < 0) {
			start.step = "pidfd";
			start.error = errno;
			kill(pid, SIGKILL);
			while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
		}
	}
	if (!start.terminal)
		for (int i = 0; i < 3; i++) shut(&start.stdio[i]);
	free_strings(start.files);
	free_strings(start.argv);
	free_strings(start.env);
	free(start.script);
	free(start.cwd);
	free(start.groups);
	if (start.step != NULL) {
		shut(&ends.input);
		shut(&ends.output);
		shut(&ends.error);
		shut(&ends.slave);
		shut(&ends.wake);
		return fail(env, start.step, start.error);
	}
	napi_value result;
	napi_create_object(env, &result);
	set(env, result, "pid", number(env, pid));
	set(env, result, "pidfd", number(env, pidfd));
	set(env, result, "input", number(env, ends.input));
	set(env, result, "output", number(env, ends.output));
	set(env, result, "error", number(env, ends.error));
	set(env, result, "slave", number(env, ends.slave));
	set(env, result, "wake", number(env, ends.wake));
	return result;
}

// wait(pid) → null | { pid, code, signal }: reaps one child if it has ended, any child for -1.
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
		{"spawn", spawn},
		{"wait", wait_child},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
