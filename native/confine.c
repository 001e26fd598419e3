// Runs a program in a sandbox, from both of its sides.
//
//   outside: puts what the program is to be into memory ─▶ bubblewrap, which makes the namespaces and mounts
//   inside:  as process 1, checks what was mounted, gives up what is left to give up ─▶ the program, and waits for it
//
// It is linked statically, so that a variable such as LD_PRELOAD, which is meant for the program, loads nothing here;
// and bubblewrap gets none of the program's variables at all. Nothing of them, nor of the program's arguments, is in a
// command line that others on the host can read.

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

// What a shell says of a program that it can't run, and that it can't find.
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127
// As bubblewrap when it fails.
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
	if (fd < 0) fail(NOT_CONFINED, "no memory for the sandbox: %s", strerror(errno));
	return fd;
}

static void put(int fd, char *const *texts, size_t count) {
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(texts[i]) + 1;
		if (write(fd, texts[i], size) != (ssize_t)size) fail(NOT_CONFINED, "no memory for the sandbox: %s", strerror(errno));
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

// arguments: whether there is a terminal; bubblewrap and how many options it gets; those; what is for the inside.
static noreturn void outside(char **arguments) {
	syscall(SYS_close_range, 3, ~0u, 0);
	bool has_terminal = strcmp(arguments[0], "1") == 0;
	char *bubblewrap = arguments[1];
	size_t option_count = strtoul(arguments[2], NULL, 10);
	char **options = arguments + 3, **rest = options + option_count;

	int own = open("/proc/self/exe", O_RDONLY), told = open_memory("options"), spec = open_memory("program");
	if (own < 0) fail(NOT_CONFINED, "cannot find itself: %s", strerror(errno));
	put(told, options, option_count);
	lseek(told, 0, SEEK_SET);
	put(spec, arguments, 1);
	put(spec, rest, length(rest));
	put_number(spec, length(environ));
	put(spec, environ, length(environ));

	// Signals are for the program, which gets each from whoever sends them to all; none may end what holds it.
	for (int signo = 1; signo < _NSIG; signo++)
		if (signo != SIGCHLD) signal(signo, SIG_IGN);
	// The terminal is to be the program's, as if there were nobody in between. Until it takes it, it is nobody's.
	if (has_terminal && ioctl(0, TIOCNOTTY) < 0) fail(NOT_CONFINED, "cannot give up the terminal: %s", strerror(errno));

	char told_number[16], spec_number[16], own_path[32];
	snprintf(told_number, sizeof told_number, "%d", told);
	snprintf(spec_number, sizeof spec_number, "%d", spec);
	snprintf(own_path, sizeof own_path, "/proc/self/fd/%d", own);
	char *argv[] = {bubblewrap, "--args", told_number, "--", own_path, "inside", spec_number, NULL};
	// Only the mark by which a session's processes are found again.
	char *env[] = {NULL, NULL};
	for (char **each = environ; *each != NULL; each++)
		if (strncmp(*each, SESSION_MARK, strlen(SESSION_MARK)) == 0) env[0] = *each;
	execve(bubblewrap, argv, env);
	fail(NOT_CONFINED, "cannot start %s: %s", bubblewrap, strerror(errno));
}

// ---- inside

static char *next_text, *last_text;

static char *text(void) {
	if (next_text >= last_text) fail(NOT_CONFINED, "the sandbox was told too little");
	char *taken = next_text;
	next_text += strlen(taken) + 1;
	return taken;
}

static unsigned long long number(void) {
	return strtoull(text(), NULL, 10);
}

// With room for one more in front, which the shell takes when a script has no first line.
static char **texts(void) {
	size_t count = number();
	char **list = calloc(count + 2, sizeof *list);
	if (list == NULL) fail(NOT_CONFINED, "no memory for the sandbox");
	for (size_t i = 0; i < count; i++) list[i + 1] = text();
	return list + 1;
}

static void read_spec(int fd) {
	off_t size = lseek(fd, 0, SEEK_END);
	next_text = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (size <= 0 || next_text == MAP_FAILED) fail(NOT_CONFINED, "the sandbox was told nothing");
	last_text = next_text + size;
}

// Between the look at a directory and its mount somebody may have put a link in its place.
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
		// Where nothing stands because nobody can make anything, we can't either.
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
	// On pipes it stays in the group that whoever started it sends signals to.
	if (has_terminal && (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) < 0))
		fail(NOT_CONFINED, "cannot take the terminal: %s", strerror(errno));
	execute(files, argv, env);
}

// As process 1: when it ends, the kernel ends all that is left in here.
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
	// What the program sees of us.
	prctl(PR_SET_NAME, "sandbox");
	read_spec(atoi(spec));
	syscall(SYS_close_range, 3, ~0u, 0);
	bool has_terminal = number() != 0, has_network = number() != 0;
	check_writable();
	check_protected();
	set_limits();
	char **files = texts(), **argv = texts(), **env = texts();
	// The one of whoever started the server has keys that are none of the program's business.
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EPERM)
		fail(NOT_CONFINED, "cannot leave the session keyring: %s", strerror(errno));
	if (!install_filter(has_network)) fail(NOT_CONFINED, "no filter for system calls: %s", strerror(errno));
	pid_t program = fork();
	if (program < 0) fail(NOT_CONFINED, "cannot fork: %s", strerror(errno));
	if (program == 0) become_program(has_terminal, files, argv, env);
	// Not ours: as long as we had them, nobody would see their end.
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
	close(nothing);
	wait_for(program);
}

int main(int count, char **arguments) {
	if (count > 5 && strcmp(arguments[1], "outside") == 0) outside(arguments + 2);
	if (count == 3 && strcmp(arguments[1], "inside") == 0) inside(arguments[2]);
	fail(NOT_CONFINED, "this is started by the server, not by hand");
}
