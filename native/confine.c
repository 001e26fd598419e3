// Runs a program in a sandbox. It runs twice, outside and inside:
//
//   outside: puts the program's specification into memory ─▶ bubblewrap, which creates namespaces and mounts
//   inside:  as process 1, checks the mounts, drops the remaining privileges ─▶ the program, and waits for it
//
// It is linked statically, so that a variable such as LD_PRELOAD, meant for the program, has no effect here. bubblewrap
// gets none of the program's variables. Neither they nor the program's arguments are on a command line that other users
// of the host can read.

#define _GNU_SOURCE
#include <linux/keyctl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "filter.h"

// Exit codes of a shell for a program that can't be run, and for one that is not found.
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127
// Exit code of bubblewrap when it fails.
#define NOT_CONFINED 1

#define SESSION_MARK "HAWSER_SESSION="

static noreturn void fail(int status, const char *format, ...) {
	va_list values;
	va_start(values, format);
	fputs("hawser: ", stderr);
	vfprintf(stderr, format, values);
	fputc('\n', stderr);
	va_end(values);
	_exit(status);
}

// ---- outside

static int open_memory(const char *name) {
	int fd = memfd_create(name, 0);
	if (fd < 0) fail(NOT_CONFINED, "cannot store the sandbox specification: %s", strerror(errno));
	return fd;
}

static void put(int fd, char *const *texts, size_t count) {
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(texts[i]) + 1;
		if (write(fd, texts[i], size) != (ssize_t)size) fail(NOT_CONFINED, "cannot store the sandbox specification: %s", strerror(errno));
	}
}

static void put_number(int fd, size_t value) {
	char text[24], *texts[] = {text};
	snprintf(text, sizeof text, "%zu", value);
	put(fd, texts, 1);
}

static size_t length(char *const *texts) {
	size_t count = 0;
	while (texts[count] != NULL) count++;
	return count;
}

// arguments: whether there is a terminal; bubblewrap and the number of its options; the options; the specification.
static noreturn void outside(char **arguments) {
	syscall(SYS_close_range, 3, ~0u, 0);
	bool has_terminal = strcmp(arguments[0], "1") == 0;
	char *bubblewrap = arguments[1];
	size_t option_count = strtoul(arguments[2], NULL, 10);
	char **options = arguments + 3, **rest = options + option_count;

	int own = open("/proc/self/exe", O_RDONLY), options_fd = open_memory("options"), spec = open_memory("program");
	if (own < 0) fail(NOT_CONFINED, "cannot open /proc/self/exe: %s", strerror(errno));
	put(options_fd, options, option_count);
	lseek(options_fd, 0, SEEK_SET);
	put(spec, arguments, 1);
	put(spec, rest, length(rest));
	put_number(spec, length(environ));
	put(spec, environ, length(environ));

	// Senders signal the whole group, so the program gets each signal itself. None may end this process.
	for (int signo = 1; signo < _NSIG; signo++)
		if (signo != SIGCHLD) signal(signo, SIG_IGN);
	// The terminal becomes the program's controlling terminal inside. Until then it must belong to no session.
	if (has_terminal && ioctl(0, TIOCNOTTY) < 0) fail(NOT_CONFINED, "cannot give up the terminal: %s", strerror(errno));

	char options_number[16], spec_number[16], own_path[32];
	snprintf(options_number, sizeof options_number, "%d", options_fd);
	snprintf(spec_number, sizeof spec_number, "%d", spec);
	snprintf(own_path, sizeof own_path, "/proc/self/fd/%d", own);
	char *argv[] = {bubblewrap, "--args", options_number, "--", own_path, "inside", spec_number, NULL};
	// Only the variable that identifies the session's processes.
	char *env[] = {NULL, NULL};
	for (char **each = environ; *each != NULL; each++)
		if (strncmp(*each, SESSION_MARK, strlen(SESSION_MARK)) == 0) env[0] = *each;
	execve(bubblewrap, argv, env);
	fail(NOT_CONFINED, "cannot start %s: %s", bubblewrap, strerror(errno));
}

// ---- inside

static char *next_text, *last_text;

static char *text(void) {
	if (next_text >= last_text) fail(NOT_CONFINED, "the sandbox specification is incomplete");
	char *taken = next_text;
	next_text += strlen(taken) + 1;
	return taken;
}

static unsigned long long number(void) {
	return strtoull(text(), NULL, 10);
}

// Leaves room for one more element in front, for the shell that runs a script without a #! line.
static char **texts(void) {
	size_t count = number();
	char **list = calloc(count + 2, sizeof *list);
	if (list == NULL) fail(NOT_CONFINED, "out of memory for the sandbox");
	for (size_t i = 0; i < count; i++) list[i + 1] = text();
	return list + 1;
}

static void read_spec(int fd) {
	off_t size = lseek(fd, 0, SEEK_END);
	next_text = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (size <= 0 || next_text == MAP_FAILED) fail(NOT_CONFINED, "the sandbox specification is empty");
	last_text = next_text + size;
}

// A link may have replaced the directory between its check and its mount.
static void check_writable(void) {
	for (unsigned long long left = number(); left > 0; left--) {
		unsigned long long device = number(), file = number();
		char *path = text();
		struct stat status;
		if (stat(path, &status) < 0 || status.st_dev != device || status.st_ino != file)
			fail(NOT_CONFINED, "%s was replaced while the sandbox was made", path);
	}
}

static void check_protected(void) {
	for (char **path = texts(); *path != NULL; path++) {
		int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct statvfs status;
		// A missing directory is fine if it can't be created, since then the program can't create it either.
		if (fd < 0 && errno == ENOENT && mkdir(*path, 0) == 0) {
			rmdir(*path);
			fail(NOT_CONFINED, "cannot enforce sandbox read-only path %s", *path);
		}
		if (fd < 0) continue;
		if (fstatvfs(fd, &status) < 0 || (status.f_flag & ST_RDONLY) == 0)
			fail(NOT_CONFINED, "cannot enforce sandbox read-only path %s", *path);
		close(fd);
	}
}

static void set_limits(void) {
	static const struct { const char *name; int resource; } known[] = {
		{"cpu", RLIMIT_CPU}, {"as", RLIMIT_AS}, {"nproc", RLIMIT_NPROC}, {"fsize", RLIMIT_FSIZE},
	};
	for (unsigned long long left = number(); left > 0; left--) {
		char *name = text();
		rlim_t value = number();
		for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
			struct rlimit limit = {value, value};
			if (strcmp(name, known[i].name) == 0 && setrlimit(known[i].resource, &limit) < 0)
				fail(NOT_CONFINED, "cannot limit %s: %s", name, strerror(errno));
		}
	}
}

// As execvp does; see native/minder.c.
static noreturn void execute(char **files, char **argv, char **env) {
	int error = ENOENT;
	for (char **file = files; *file != NULL; file++) {
		execve(*file, argv, env);
		if (errno == ENOEXEC) {
			char **script = argv - 1, *name = argv[0];
			script[0] = "/bin/sh";
			script[1] = *file;
			execve(script[0], script, env);
			argv[0] = name;
		}
		if (errno == EACCES) error = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR) {
			error = errno;
			break;
		}
	}
	fail(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE, "cannot start %s: %s", argv[0], strerror(error));
}

static noreturn void become_program(bool has_terminal, char **files, char **argv, char **env) {
	for (int signo = 1; signo < _NSIG; signo++) signal(signo, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	// On pipes it stays in the process group that the server signals.
	if (has_terminal && (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) < 0))
		fail(NOT_CONFINED, "cannot take the terminal: %s", strerror(errno));
	execute(files, argv, env);
}

// As process 1: when it exits, the kernel kills all remaining processes of the sandbox.
static noreturn void wait_for(pid_t program) {
	for (int status;;) {
		pid_t ended = wait(&status);
		if (ended < 0 && errno == EINTR) continue;
		if (ended < 0) _exit(NOT_CONFINED);
		if (ended != program) continue;
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
}

static noreturn void inside(char *spec) {
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	// Name of this process as the program sees it.
	prctl(PR_SET_NAME, "sandbox");
	read_spec(atoi(spec));
	syscall(SYS_close_range, 3, ~0u, 0);
	bool has_terminal = number() != 0, has_network = number() != 0;
	check_writable();
	check_protected();
	set_limits();
	char **files = texts(), **argv = texts(), **env = texts();
	// The keyring of the user that started the server has keys that the program must not get.
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EPERM)
		fail(NOT_CONFINED, "cannot leave the session keyring: %s", strerror(errno));
	if (!install_filter(has_network)) fail(NOT_CONFINED, "no filter for system calls: %s", strerror(errno));
	pid_t program = fork();
	if (program < 0) fail(NOT_CONFINED, "cannot fork: %s", strerror(errno));
	if (program == 0) become_program(has_terminal, files, argv, env);
	// Closes the program's descriptors here. Otherwise the other ends would never see them close.
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
	close(nothing);
	wait_for(program);
}

int main(int count, char **arguments) {
	if (count > 5 && strcmp(arguments[1], "outside") == 0) outside(arguments + 2);
	if (count == 3 && strcmp(arguments[1], "inside") == 0) inside(arguments[2]);
	fail(NOT_CONFINED, "this program is started by the server, not by hand");
}
