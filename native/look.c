// Inspects the foreground processes of a terminal: the system call each sleeps in, and whether it waits for input.
//
//   tree below the root ─▶ innermost terminal ─▶ its foreground group ─▶ each thread's call ─▶ what it waits for
//
// All of it comes from /proc, which shows calls and descriptors only to processes that may trace the program: those of the
// same user, or only its ancestors. Anything else is reported as denied. Call numbers are those of 64-bit programs; a
// 32-bit program's are misread, and it appears to sleep.

#define _GNU_SOURCE
#include <dirent.h>
#include <linux/stat.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <termios.h>
#include "look.h"
#include "process.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

// Limits of processes, and of threads of each. Larger sessions are judged by this part.
/** @limit processes of a session that an inspection covers | others are not inspected */
#define MOST_PROCESSES 256
/** @limit threads of a process that an inspection covers | others are not inspected */
#define MOST_THREADS 64
// Descriptors of one poll or select. Only servers have more.
#define MOST_POLLED 1024
// Bytes read of an epoll's list, which has some 50 bytes per descriptor.
#define EPOLL_TEXT (64 * 1024)
// Nested terminals, such as a script in tmux in ssh.
#define MOST_LEVELS 4
// Retries after the terminal's modes have changed. A program that changes them all the time is running.
#define MOST_CHANGES 3

struct seen {
	pid_t pid, parent, group, session, foreground;
	unsigned terminal;
	int threads;
	char state;
	// Start time, and the start of the stack, which an exec changes; 0 if we may not read it.
	unsigned long long started, stack;
	char name[16];
};

struct tree {
	struct seen all[MOST_PROCESSES];
	size_t count;
};

// The input of the programs: a terminal by its device number, or a pipe by its inode.
struct input {
	unsigned terminal;
	uint64_t inode;
	uint32_t major, minor;
};

enum does { RUNS, READS, WRITES, LISTENS, SLEEPS, IS_DENIED };

// ---- the tree

static bool read_seen(pid_t pid, struct seen *seen) {
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (read_proc(path, text, sizeof text) == 0) return false;
	// The name may itself contain parentheses and blanks.
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	if (name == NULL || end == NULL || end < name) return false;
	*end = 0;
	snprintf(seen->name, sizeof seen->name, "%s", name + 1);
	seen->pid = pid;
	int terminal;
	if (sscanf(end + 1, " %c %d %d %d %d %d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu %*u %*d %*u %*u %*u %llu",
			&seen->state, &seen->parent, &seen->group, &seen->session, &terminal, &seen->foreground, &seen->threads, &seen->started,
			&seen->stack) != 9) return false;
	seen->terminal = (unsigned)terminal;
	return seen->state != 'Z' && seen->state != 'X';
}

// The threads of a process, up to the limit.
static size_t read_threads(const struct seen *seen, pid_t *threads) {
	threads[0] = seen->pid;
	if (seen->threads < 2) return 1;
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/task", (int)seen->pid);
	DIR *folder = opendir(path);
	if (folder == NULL) return 1;
	size_t count = 1;
	for (struct dirent *entry; count < MOST_THREADS && (entry = readdir(folder)) != NULL;) {
		pid_t thread = (pid_t)atoi(entry->d_name);
		if (thread > 0 && thread != seen->pid) threads[count++] = thread;
	}
	closedir(folder);
	return count;
}

static void add_children(struct tree *tree, pid_t parent, pid_t thread) {
	char path[64], text[4096];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)thread);
	if (read_proc(path, text, sizeof text) == 0) return;
	// A number that was cut off at the end has no blank after it.
	for (char *next = text, *end; tree->count < MOST_PROCESSES && (end = strchr(next, ' ')) != NULL; next = end + 1) {
		if (read_seen((pid_t)atoi(next), &tree->all[tree->count])) tree->count++;
	}
}

// All processes below the root, parents before children.
static void read_tree(pid_t root, struct tree *tree) {
	tree->count = 0;
	add_children(tree, root, root);
	for (size_t i = 0; i < tree->count; i++) {
		pid_t threads[MOST_THREADS];
		size_t count = read_threads(&tree->all[i], threads);
		for (size_t t = 0; t < count; t++) add_children(tree, tree->all[i].pid, threads[t]);
	}
}

static const struct seen *find(const struct tree *tree, pid_t pid) {
	for (size_t i = 0; i < tree->count; i++) if (tree->all[i].pid == pid) return &tree->all[i];
	return NULL;
}

// ---- the input of a process

// Linux numbers every terminal of /dev/pts as a minor of this major.
#define PTS_MAJOR 136

// A device number as /proc/PID/stat writes it: bits 7-0 and 31-20 are the minor, bits 19-8 the major.
static unsigned device_number(unsigned major, unsigned minor) {
	return (minor & 0xff) | major << 8 | (minor & ~0xffu) << 12;
}

// Does not query a file server, which might not answer.
static bool read_status(const struct seen *seen, int fd, struct statx *status) {
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)seen->pid, fd);
	return syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, status) == 0;
}

static bool is_input(const struct seen *seen, int fd, const struct input *input) {
	struct statx status;
	if (!read_status(seen, fd, &status)) return false;
	if (input->terminal == 0)
		return status.stx_ino == input->inode && status.stx_dev_major == input->major && status.stx_dev_minor == input->minor;
	if ((status.stx_mode & S_IFMT) != S_IFCHR) return false;
	// /dev/tty is the process's own terminal.
	if (status.stx_rdev_major == 5 && status.stx_rdev_minor == 0) return seen->terminal == input->terminal;
	return device_number(status.stx_rdev_major, status.stx_rdev_minor) == input->terminal;
}

static bool read_memory(const struct seen *seen, uint64_t address, void *bytes, size_t size) {
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)seen->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_read = fd >= 0 && pread(fd, bytes, size, (off_t)address) == (ssize_t)size;
	if (fd >= 0) close(fd);
	return is_read;
}

static bool polls_input(const struct seen *seen, const struct input *input, const uint64_t *arguments) {
	struct pollfd polled[MOST_POLLED];
	size_t count = arguments[1] < MOST_POLLED ? (size_t)arguments[1] : MOST_POLLED;
	if (count == 0 || !read_memory(seen, arguments[0], polled, count * sizeof *polled)) return false;
	for (size_t i = 0; i < count; i++) {
		if (polled[i].fd >= 0 && (polled[i].events & (POLLIN | POLLRDNORM)) != 0 && is_input(seen, polled[i].fd, input)) return true;
	}
	return false;
}

static bool selects_input(const struct seen *seen, const struct input *input, const uint64_t *arguments) {
	unsigned char set[MOST_POLLED / 8];
	int count = arguments[0] < MOST_POLLED ? (int)arguments[0] : MOST_POLLED;
	// Whole words, as the kernel reads them.
	if (count <= 0 || arguments[1] == 0 || !read_memory(seen, arguments[1], set, (size_t)(count + 63) / 64 * 8)) return false;
	for (int fd = 0; fd < count; fd++) {
		if ((set[fd / 8] >> fd % 8 & 1) != 0 && is_input(seen, fd, input)) return true;
	}
	return false;
}

static bool epoll_has_input(const struct seen *seen, const struct input *input, const uint64_t *arguments) {
	char path[48], *text = malloc(EPOLL_TEXT);
	if (text == NULL) return false;
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)seen->pid, (int)arguments[0]);
	// The kernel returns it page by page.
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	for (ssize_t got = 1; fd >= 0 && got > 0 && length < EPOLL_TEXT - 1; length += got > 0 ? (size_t)got : 0)
		got = read(fd, text + length, EPOLL_TEXT - 1 - length);
	if (fd >= 0) close(fd);
	text[length] = 0;
	bool has_input = false;
	for (char *next = text; !has_input && (next = strstr(next, "tfd:")) != NULL; next += 4) {
		int watched;
		unsigned events;
		if (sscanf(next, "tfd: %d events: %x", &watched, &events) == 2) has_input = (events & EPOLLIN) != 0 && is_input(seen, watched, input);
	}
	free(text);
	return has_input;
}

// ---- what a thread sleeps in

enum shape { OTHER, READING, WRITING, POLLING, SELECTING, EPOLLING };

// The word is for users; calls that are not listed are "other".
static const struct { long number; enum shape shape; const char *word; } CALLS[] = {
	{SYS_read, READING, "read"},
	{SYS_readv, READING, "read"},
	{SYS_write, WRITING, "write"},
	{SYS_writev, WRITING, "write"},
#ifdef SYS_poll
	{SYS_poll, POLLING, "events"},
	{SYS_select, SELECTING, "events"},
	{SYS_epoll_wait, EPOLLING, "events"},
	{SYS_pause, OTHER, "signal"},
#endif
	{SYS_ppoll, POLLING, "events"},
	{SYS_pselect6, SELECTING, "events"},
	{SYS_epoll_pwait, EPOLLING, "events"},
	{441, EPOLLING, "events"}, // epoll_pwait2, the same everywhere
	{SYS_nanosleep, OTHER, "sleep"},
	{SYS_clock_nanosleep, OTHER, "sleep"},
	{SYS_wait4, OTHER, "child"},
	{SYS_waitid, OTHER, "child"},
	{SYS_futex, OTHER, "thread"},
	{SYS_flock, OTHER, "lock"},
	{SYS_fcntl, OTHER, "lock"},
	{SYS_accept, OTHER, "socket"},
	{SYS_accept4, OTHER, "socket"},
	{SYS_connect, OTHER, "socket"},
	{SYS_recvfrom, OTHER, "socket"},
	{SYS_recvmsg, OTHER, "socket"},
	{SYS_sendto, OTHER, "socket"},
	{SYS_sendmsg, OTHER, "socket"},
	{SYS_rt_sigsuspend, OTHER, "signal"},
	{SYS_rt_sigtimedwait, OTHER, "signal"},
};

// For the first thread of its process, `depth` is set to the bytes of stack in use at its call.
static enum does ask_thread(const struct seen *seen, pid_t thread, const struct input *input, const char **word, uint64_t *depth) {
	char path[64], text[256];
	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)seen->pid, (int)thread);
	*word = "other";
	*depth = 0;
	errno = 0;
	if (read_proc(path, text, sizeof text) == 0) {
		// A thread that has just ended has no such file either. If even our own is missing, the kernel does not support it.
		bool is_unknown = errno == ENOENT && access("/proc/self/syscall", F_OK) < 0;
		return errno == EACCES || errno == EPERM || is_unknown ? IS_DENIED : SLEEPS;
	}
	if (text[0] == 'r') return RUNS;
	// The six arguments of the call, and the stack pointer.
	uint64_t arguments[7] = {0};
	char *next = text;
	long number = strtol(next, &next, 10);
	for (int i = 0; i < 7; i++) arguments[i] = strtoull(next, &next, 16);
	if (thread == seen->pid && seen->stack > arguments[6] && arguments[6] > 0) *depth = seen->stack - arguments[6];
	for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
		if (CALLS[i].number != number) continue;
		*word = CALLS[i].word;
		switch (CALLS[i].shape) {
		case READING: return is_input(seen, (int)arguments[0], input) ? READS : SLEEPS;
		case WRITING: return input->terminal != 0 && is_input(seen, (int)arguments[0], input) ? WRITES : SLEEPS;
		case POLLING: return polls_input(seen, input, arguments) ? LISTENS : SLEEPS;
		case SELECTING: return selects_input(seen, input, arguments) ? LISTENS : SLEEPS;
		case EPOLLING: return epoll_has_input(seen, input, arguments) ? LISTENS : SLEEPS;
		case OTHER: return SLEEPS;
		}
	}
	return SLEEPS;
}

// ---- the processes in front

// How informative each state is about what a group waits for. A process waiting for a child says nothing about itself.
static int weight(const bool *does, const char *call) {
	if (does[READS]) return 6;
	if (does[WRITES]) return 5;
	if (does[LISTENS]) return 4;
	if (does[RUNS]) return 3;
	return strcmp(call, "child") == 0 ? 1 : 2;
}

static bool is_in_front(const struct seen *seen, const struct input *input, pid_t foreground) {
	return input->terminal == 0 || (seen->terminal == input->terminal && seen->group == foreground);
}

static void look_at_front(const struct tree *tree, const struct input *input, pid_t foreground, struct sight *sight) {
	sight->runs = sight->reads = sight->writes = sight->listens = sight->on_disk = sight->denied = false;
	sight->stopped = true;
	sight->pid = 0;
	int most = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const struct seen *seen = &tree->all[i];
		if (!is_in_front(seen, input, foreground)) continue;
		pid_t threads[MOST_THREADS];
		size_t count = read_threads(seen, threads);
		bool does[IS_DENIED + 1] = {false};
		const char *call = "other", *other;
		uint64_t depth = 0, used;
		for (size_t t = 0; t < count; t++) {
			enum does what = ask_thread(seen, threads[t], input, t == 0 ? &call : &other, &used);
			does[what] = true;
			if (what == READS || what == LISTENS) depth = used;
		}
		sight->runs |= does[RUNS];
		sight->reads |= does[READS];
		sight->writes |= does[WRITES];
		sight->listens |= does[LISTENS];
		sight->denied |= does[IS_DENIED];
		sight->on_disk |= seen->state == 'D';
		sight->stopped &= seen->state == 'T' || seen->state == 't';
		int importance = weight(does, call);
		// Among equals, the deepest: it is what the others wait for.
		if (importance < most) continue;
		most = importance;
		sight->pid = seen->pid;
		sight->call = call;
		sight->depth = depth;
		memcpy(sight->name, seen->name, sizeof sight->name);
		snprintf(sight->image, sizeof sight->image, "%llu.%llx", seen->started, seen->stack);
	}
	sight->stopped &= sight->pid != 0;
}

// ---- terminals within terminals

// Whether a foreground process is its ancestor.
static bool is_below_front(const struct tree *tree, const struct seen *seen, const struct input *input, pid_t foreground) {
	for (const struct seen *above = find(tree, seen->parent); above != NULL; above = find(tree, above->parent))
		if (is_in_front(above, input, foreground)) return true;
	return false;
}

// The terminals from the session's own to the innermost so far. None is followed twice.
struct way {
	unsigned terminals[MOST_LEVELS + 1];
	size_t count;
};

static bool is_on_way(const struct way *way, unsigned terminal) {
	for (size_t i = 0; i < way->count; i++) if (way->terminals[i] == terminal) return true;
	return false;
}

// Whether no ancestor is on that terminal, as for a server that has left it, such as that of tmux.
static bool is_apart(const struct tree *tree, const struct seen *seen, const struct input *input) {
	for (const struct seen *above = find(tree, seen->parent); above != NULL; above = find(tree, above->parent))
		if (above->terminal == input->terminal) return false;
	return true;
}

// The leader of the one session on another terminal that the foreground processes use; NULL if there is none, or several.
static const struct seen *find_inner(const struct tree *tree, const struct input *input, const struct way *way, pid_t foreground, bool apart, bool *is_split) {
	const struct seen *found = NULL;
	for (size_t i = 0; i < tree->count; i++) {
		const struct seen *seen = &tree->all[i];
		if (seen->pid != seen->session || seen->terminal == 0 || is_on_way(way, seen->terminal)) continue;
		bool belongs = apart ? is_apart(tree, seen, input) : is_below_front(tree, seen, input, foreground);
		if (!belongs) continue;
		if (found != NULL) *is_split = true;
		found = seen;
	}
	return *is_split ? NULL : found;
}

// Whether it has a descriptor of a terminal other than this one.
static bool holds_another(const struct seen *seen, const struct input *input) {
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/fd", (int)seen->pid);
	DIR *folder = opendir(path);
	if (folder == NULL) return false;
	bool holds = false;
	for (struct dirent *entry; !holds && (entry = readdir(folder)) != NULL;) {
		struct statx status;
		if (entry->d_name[0] == '.' || !read_status(seen, atoi(entry->d_name), &status)) continue;
		holds = (status.stx_mode & S_IFMT) == S_IFCHR && status.stx_rdev_major == PTS_MAJOR &&
			device_number(PTS_MAJOR, status.stx_rdev_minor) != input->terminal;
	}
	closedir(folder);
	return holds;
}

// Whether a child of the foreground processes has left their terminal to take another, and has not done so yet. It has not
// called exec since its fork, so it has its parent's stack. Meanwhile its parent, such as a recorder, may already poll.
static bool is_taking_terminal(const struct tree *tree, const struct input *input, pid_t foreground) {
	for (size_t i = 0; i < tree->count; i++) {
		const struct seen *seen = &tree->all[i], *parent = find(tree, seen->parent);
		if (seen->pid != seen->session || seen->terminal != 0 || parent == NULL) continue;
		if (seen->stack == 0 || seen->stack != parent->stack || !is_below_front(tree, seen, input, foreground)) continue;
		// It may have taken the terminal since the tree was read, and sleep by now.
		struct seen now;
		if (read_seen(seen->pid, &now) && now.terminal != 0) return true;
		const char *word;
		uint64_t depth;
		if (ask_thread(seen, seen->pid, input, &word, &depth) == RUNS && holds_another(seen, input)) return true;
	}
	return false;
}

static bool read_modes(int fd, struct sight *sight) {
	struct termios modes;
	if (tcgetattr(fd, &modes) < 0) return false;
	sight->canonical = (modes.c_lflag & ICANON) != 0;
	sight->echo = (modes.c_lflag & ECHO) != 0;
	return true;
}

// Inspects the foreground processes under stable terminal modes. A program seen in a call under older or newer modes could
// be mistaken for one that waits for something else.
static bool look_at_terminal(int fd, const struct tree *tree, const struct input *input, pid_t foreground, struct sight *sight) {
	struct sight later = {0};
	for (int changes = 0; changes <= MOST_CHANGES; changes++) {
		if (!read_modes(fd, sight)) return false;
		look_at_front(tree, input, foreground, sight);
		if (read_modes(fd, &later) && later.canonical == sight->canonical && later.echo == sight->echo) return true;
	}
	sight->runs = true;
	sight->reads = sight->writes = sight->listens = false;
	return true;
}

// Opens a terminal through one of its programs; -1 if we may not.
static int open_inner(const struct seen *leader) {
	const struct input input = {.terminal = leader->terminal};
	for (int fd = 0; fd < 3; fd++) {
		char path[48];
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)leader->pid, fd);
		if (is_input(leader, fd, &input)) return open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	}
	return -1;
}

// Input that a program has not read, on the program's side. A kernel thread moves typed input there, which may take many
// milliseconds on a busy machine; a poll forces it first.
static int unread_on(int side) {
	struct pollfd polled = {.fd = side, .events = POLLIN};
	int unread = 0;
	poll(&polled, 1, 0);
	return ioctl(side, FIONREAD, &unread) < 0 ? 0 : unread;
}

// Follows nested terminals as far as possible: a recorder, or a multiplexer with one window, shows the inner one.
static void look_inside(const struct tree *tree, struct input *input, pid_t *foreground, struct sight *sight) {
	struct way way = {.terminals = {input->terminal}, .count = 1};
	for (int level = 0; level < MOST_LEVELS; level++) {
		const struct seen *leader = find_inner(tree, input, &way, *foreground, false, &sight->is_split);
		bool is_idle = !sight->reads && !sight->listens && !sight->canonical;
		if (leader == NULL && !sight->is_split && is_idle) leader = find_inner(tree, input, &way, *foreground, true, &sight->is_split);
		if (leader == NULL) {
			sight->runs |= is_taking_terminal(tree, input, *foreground);
			return;
		}
		int fd = open_inner(leader);
		sight->unread = fd < 0 ? 0 : unread_on(fd);
		input->terminal = leader->terminal;
		way.terminals[way.count++] = leader->terminal;
		*foreground = leader->foreground;
		// Typed text is visible if any terminal on the way echoes it.
		bool is_shown = sight->echo;
		if (fd < 0 || !look_at_terminal(fd, tree, input, *foreground, sight)) sight->is_split = true;
		sight->echo |= is_shown;
		if (fd >= 0) close(fd);
		if (sight->is_split) return;
		sight->is_inner = true;
	}
}

// ---- all of it

// Unread input is known only on the program's side of a terminal; for a pipe, on both.
static int unread_of(int fd, bool is_terminal) {
	int side = is_terminal ? ioctl(fd, TIOCGPTPEER, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : fd;
	int unread = side < 0 ? 0 : unread_on(side);
	if (is_terminal && side >= 0) close(side);
	return unread;
}

static struct input input_of(int fd) {
	struct input input = {0};
	unsigned number;
	struct statx status;
	if (ioctl(fd, TIOCGPTN, &number) == 0) {
		input.terminal = device_number(PTS_MAJOR, number);
	} else if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &status) == 0) {
		input.inode = status.stx_ino;
		input.major = status.stx_dev_major;
		input.minor = status.stx_dev_minor;
	}
	return input;
}

void look(int fd, pid_t root, struct sight *sight) {
	memset(sight, 0, sizeof *sight);
	sight->call = "other";
	struct tree *tree = malloc(sizeof *tree);
	if (tree == NULL) return;
	struct input input = input_of(fd);
	sight->has_terminal = input.terminal != 0;
	// Checked before and after: a program that is about to read new input still sleeps for a moment.
	int unread = unread_of(fd, sight->has_terminal);
	pid_t foreground = sight->has_terminal ? tcgetpgrp(fd) : 0;
	read_tree(root, tree);
	sight->processes = (int)tree->count;
	if (!sight->has_terminal || !look_at_terminal(fd, tree, &input, foreground, sight))
		look_at_front(tree, &input, foreground, sight);
	if (sight->has_terminal) look_inside(tree, &input, &foreground, sight);
	int unread_later = unread_of(fd, sight->has_terminal);
	sight->unread += unread > unread_later ? unread : unread_later;
	free(tree);
	if (sight->pid == 0) return;
	char path[32];
	if (sight->reads || sight->listens) {
		snprintf(path, sizeof path, "/proc/%d/cmdline", (int)sight->pid);
		sight->arguments_length = read_proc(path, sight->arguments, sizeof sight->arguments);
	}
	snprintf(path, sizeof path, "/proc/%d/cwd", (int)sight->pid);
	ssize_t length = readlink(path, sight->cwd, sizeof sight->cwd - 1);
	sight->cwd[length < 0 ? 0 : length] = 0;
}
