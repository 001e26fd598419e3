// A minder: the small parent process of one program, from which none of the program's processes can escape.
//
// It is a child subreaper: a process below it that loses its parent becomes its child, however it tries to hide. So when
// the kernel reports that there are no children (ECHILD), nothing is left at all, which /proc could not prove. When its
// socket closes, because the server died or gave up, it kills the remaining processes and exits.
//
//   order ─▶ start ─▶ watch: reap, report the program's end, send signals on request ─▶ nothing left: exit
//
// Minders are forked by a nursery, some of them in advance: starting one as a separate program would cost as much again
// as starting the user's program.

#define _GNU_SOURCE
#include <dirent.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdnoreturn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "minder.h"
#include "process.h"

// When memory runs out, the kernel prefers the program to us by this many thousandths of all memory, more than a keeper
// ever uses. Raising the score needs no privilege.
#define OOM_RAISE 200
#define OOM_MOST 1000
// Pauses between two scans of the tree while it is being ended: a later scan finds children that were forked meanwhile.
#define FIRST_PAUSE_MS 1
#define LONGEST_PAUSE_MS 1000
// Longest time in which a killed child becomes a zombie.
#define DYING_MS 200
// Delay before another fork when there are too many processes.
#define RETRY_MS 100

// Descriptors of the order, including the minder's end of its socket.
static int given[ORDER_FDS];

static void report(int kind, int value, int other) {
	struct minder_message message = {kind, value, other};
	// If the server is gone, the socket itself shows it.
	if (send(given[ORDER_CONTROL], &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

// ---- the order: strings, each ended by a NUL; lists begin with their length, and numbers are decimal

static char *first_text, *next_text, *last_text;
static bool is_broken;

static char *text(void) {
	if (next_text >= last_text) is_broken = true;
	if (is_broken) return "";
	char *taken = next_text;
	next_text += strlen(taken) + 1;
	return taken;
}

static long long integer(void) {
	return strtoll(text(), NULL, 10);
}

// A list with room for one more element in front, for the shell that runs a script without a #! line.
static char **texts(size_t *count) {
	*count = (size_t)integer();
	if (*count > (size_t)(last_text - next_text)) is_broken = true;
	char **list = is_broken ? NULL : calloc(*count + 2, sizeof *list);
	if (list == NULL) is_broken = true;
	for (size_t i = 0; !is_broken && i < *count; i++) list[i + 1] = text();
	return is_broken ? NULL : list + 1;
}

static const struct { const char *name; int resource; } LIMITS[] = {
	{"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"as", RLIMIT_AS},
	{"core", RLIMIT_CORE},     {"fsize", RLIMIT_FSIZE}, {"cpu", RLIMIT_CPU},
};
#define LIMIT_COUNT (sizeof LIMITS / sizeof *LIMITS)

static struct {
	bool terminal;
	int umask; // -1: unchanged
	int uid, gid; // -1: unchanged
	gid_t *groups; // supplementary groups of the new user
	size_t group_count;
	bool limited[LIMIT_COUNT];
	struct rlimit limits[LIMIT_COUNT];
	bool is_real_cwd; // must not contain links
	char *cwd, **files, **argv, **env, **placeholders;
	size_t placeholder_count;
	char *cgroup, **settings; // empty if there is none; names and values alternate
	char oom_score[16];
	long long start_ms; // time limit for opening the directory and the program
} order;

static void read_limits(void) {
	for (long long left = integer(); left > 0 && !is_broken; left--) {
		char *name = text();
		long long soft = integer(), hard = integer();
		for (size_t i = 0; i < LIMIT_COUNT; i++) {
			if (strcmp(name, LIMITS[i].name) != 0) continue;
			getrlimit(LIMITS[i].resource, &order.limits[i]);
			if (hard >= 0) order.limits[i].rlim_max = (rlim_t)hard;
			// Without a new hard limit, the soft one must stay below the current one.
			bool fits = hard >= 0 || (rlim_t)soft < order.limits[i].rlim_max;
			order.limits[i].rlim_cur = fits ? (rlim_t)soft : order.limits[i].rlim_max;
			order.limited[i] = true;
		}
	}
}

// Makes our environment in /proc name the session of this minder.
static void mark(const char *session) {
	char *value = environ[0] == NULL ? NULL : strchr(environ[0], '=');
	if (value != NULL && strlen(session) <= strlen(value + 1)) strcpy(value + 1, session);
}

// Why an order was refused.
static int refusal = STEP_ORDER;

static bool read_order(void) {
	struct stat status;
	if (fstat(given[ORDER_TEXT], &status) < 0 || status.st_size == 0) return false;
	first_text = next_text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, given[ORDER_TEXT], 0);
	if (next_text == MAP_FAILED) return false;
	last_text = next_text + status.st_size;
	if (last_text[-1] != 0) return false;
	if (integer() != ORDER_VERSION) {
		refusal = STEP_VERSION;
		return false;
	}
	mark(text());
	order.start_ms = integer();
	order.terminal = integer() != 0;
	order.umask = (int)integer();
	// Changing to the current user is no change and needs no privilege.
	order.uid = (int)integer();
	order.gid = (int)integer();
	if (order.uid == (int)geteuid()) order.uid = -1;
	if (order.gid == (int)getegid()) order.gid = -1;
	size_t count;
	char **groups = texts(&order.group_count);
	order.groups = is_broken ? NULL : calloc(order.group_count + 1, sizeof *order.groups);
	for (size_t i = 0; order.groups != NULL && i < order.group_count; i++) order.groups[i] = (gid_t)atoll(groups[i]);
	read_limits();
	order.is_real_cwd = integer() != 0;
	order.cwd = text();
	order.files = texts(&count);
	order.argv = texts(&count);
	if (count == 0) return false;
	order.env = texts(&count);
	order.placeholders = texts(&order.placeholder_count);
	order.cgroup = text();
	order.settings = texts(&count);
	if (count % 2 != 0) return false;
	char own[16];
	int score = read_proc("/proc/self/oom_score_adj", own, sizeof own) == 0 ? 0 : atoi(own);
	snprintf(order.oom_score, sizeof order.oom_score, "%d", score + OOM_RAISE < OOM_MOST ? score + OOM_RAISE : OOM_MOST);
	return !is_broken && order.groups != NULL;
}

// ---- placeholders: directories that exist only while the program runs
//
// In a sandbox, a name can be protected from creation only by a mount, and a mount needs an existing directory, which
// everyone can see. It is created here, where no signal can end us before it is removed. Programs may share a placeholder:
// each holds a shared lock, and the one that gets an exclusive lock is the last.

// Distinguishes a placeholder from other directories: no write permission, and the sticky bit, which only its owner can set.
#define PLACEHOLDER_MODE (S_ISVTX | 0555)
#define PLACEHOLDER_MARKS (S_ISUID | S_ISGID | S_ISVTX | 0222)

static struct placeholder {
	int parent, self;
	char *name;
} *standing;
static size_t standing_count;

// No part of the path may be a link, which another user could redirect.
static int open_directly(const char *path) {
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static bool is_own(int fd) {
	struct stat status;
	return fstat(fd, &status) < 0 || status.st_uid == geteuid();
}

static bool is_named(const struct placeholder *each) {
	struct stat held, named;
	return fstat(each->self, &held) == 0 && fstatat(each->parent, each->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

// 1 if it exists and is locked; 0 if something else has the name, or no one can create anything there.
static int hold(struct placeholder *each) {
	for (;;) {
		if (mkdirat(each->parent, each->name, PLACEHOLDER_MODE) < 0 && errno != EEXIST) {
			// If we can't create it, our program can't either, unless it runs as another user or as the directory's owner, who can change that.
			int error = errno;
			bool is_denied = error == EROFS || (error == EACCES && order.uid < 0 && !is_own(each->parent));
			errno = error;
			return is_denied ? 0 : -1;
		}
		each->self = openat(each->parent, each->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat held;
		if (each->self < 0 && errno == ENOENT) continue;
		if (each->self < 0) return 0;
		if (fstat(each->self, &held) < 0) return -1;
		if ((held.st_mode & PLACEHOLDER_MARKS) != S_ISVTX) return 0;
		if (flock(each->self, LOCK_SH) < 0) return -1;
		// The process that removed it while we waited for the lock held it exclusively.
		if (is_named(each)) return 1;
		close(each->self);
	}
}

static bool make_placeholders(void) {
	standing = calloc(order.placeholder_count + 1, sizeof *standing);
	if (standing == NULL) return false;
	for (size_t i = 0; i < order.placeholder_count; i++) {
		struct placeholder each = {.self = -1};
		char *path = strdup(order.placeholders[i]), *slash = path == NULL ? NULL : strrchr(path, '/');
		if (slash == NULL) return false;
		each.name = slash + 1;
		*slash = 0;
		each.parent = open_directly(slash == path ? "/" : path);
		int outcome = each.parent < 0 ? -1 : hold(&each);
		if (outcome < 0) return false;
		if (outcome > 0) {
			standing[standing_count++] = each;
			continue;
		}
		if (each.self >= 0) close(each.self);
		close(each.parent);
	}
	return true;
}

static void remove_placeholders(void) {
	for (; standing_count > 0; standing_count--) {
		struct placeholder *each = &standing[standing_count - 1];
		// Kept if another minder needs it, or something else has its name. A non-empty one is kept by the kernel.
		if (flock(each->self, LOCK_EX | LOCK_NB) == 0 && is_named(each)) unlinkat(each->parent, each->name, AT_REMOVEDIR);
		close(each->self);
		close(each->parent);
	}
}

// ---- the control group: limits all processes of the program together
//
// It is created here for the same reason as placeholders, and its limits are set before the program enters it.

static char *standing_group;
// Processes enter through this file.
static int entrance = -1;

static bool set_in_group(int group, const char *name, const char *value) {
	int fd = openat(group, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0) return false;
	bool is_set = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	int error = errno;
	close(fd);
	errno = error;
	return is_set;
}

static bool make_group(void) {
	if (*order.cgroup == 0) return true;
	char *path = strdup(order.cgroup);
	if (path == NULL || mkdir(path, 0755) < 0) return false;
	standing_group = path;
	int group = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (group < 0) return false;
	for (char **each = order.settings; *each != NULL; each += 2)
		if (!set_in_group(group, each[0], each[1])) return false;
	entrance = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	close(group);
	return entrance >= 0;
}

static void remove_group(void) {
	if (standing_group == NULL) return;
	// A reaped process may still be counted for a moment.
	for (int tries = 0; rmdir(standing_group) < 0 && errno == EBUSY && tries < DYING_MS; tries++) poll(NULL, 0, 1);
}

// ---- the start

// The child's error, written to the memory that it shares with us until its exec.
static volatile int failed_step = -1, failed_error;

static noreturn void give_up(int step) {
	failed_error = errno;
	failed_step = step;
	_exit(127);
}

// Like execvp: a missing candidate is skipped, a forbidden one is remembered, and a text file without a #! line is run by
// the shell.
static noreturn void execute(void) {
	int error = ENOENT;
	for (char **file = order.files; *file != NULL; file++) {
		execve(*file, order.argv, order.env);
		if (errno == ENOEXEC) {
			char **script = order.argv - 1, *name = order.argv[0];
			script[0] = "/bin/sh";
			script[1] = *file;
			execve(script[0], script, order.env);
			order.argv[0] = name;
		}
		if (errno == EACCES) error = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR) give_up(STEP_EXEC);
	}
	errno = error;
	give_up(STEP_EXEC);
}

static void raise_oom_score(void) {
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0) return;
	// If the score can't be raised, the program is as likely to be killed as we are.
	if (write(fd, order.oom_score, strlen(order.oom_score)) < 0) errno = 0;
	close(fd);
}

// A directory or program on an unreachable file server would block us forever, and our parent with us. A timer does not
// survive exec; until then its signal kills us wherever we wait.
static void limit_start(void) {
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec once = {.it_value = {order.start_ms / 1000, order.start_ms % 1000 * 1000000}};
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &once, NULL);
}

static int enter_directory(void) {
	if (!order.is_real_cwd) return chdir(order.cwd);
	int fd = open_directly(order.cwd);
	return fd < 0 ? -1 : fchdir(fd);
}

static noreturn void child(void) {
	struct sigaction plain = {.sa_handler = SIG_DFL};
	for (int signo = 1; signo < _NSIG; signo++) sigaction(signo, &plain, NULL);
	if (setsid() < 0) give_up(STEP_SETSID);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(given[ORDER_STDIO + fd], fd) < 0) give_up(STEP_STDIO);
	if (order.terminal && ioctl(0, TIOCSCTTY, 0) < 0) give_up(STEP_PTY);
	if (order.terminal && order.uid >= 0 && fchown(0, (uid_t)order.uid, (gid_t)-1) < 0 && errno != EPERM) give_up(STEP_PTY);
	raise_oom_score();
	// Before the change of user, who may not write there. "0" means the writing process.
	if (entrance >= 0 && write(entrance, "0", 1) != 1) give_up(STEP_CGROUP);
	if (order.umask >= 0) umask((mode_t)order.umask);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (order.limited[i] && setrlimit(LIMITS[i].resource, &order.limits[i]) < 0) give_up(STEP_LIMITS);
	if ((order.uid >= 0 || order.gid >= 0) && setgroups(order.group_count, order.groups) < 0) give_up(STEP_SETGROUPS);
	if (order.gid >= 0 && setgid((gid_t)order.gid) < 0) give_up(STEP_SETGID);
	if (order.uid >= 0 && setuid((uid_t)order.uid) < 0) give_up(STEP_SETUID);
	// After the change of user, which would reset it. Without a minder, a program's end could not be reported.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	limit_start();
	// After the change of user, because the new user may not be allowed in our directory.
	if (enter_directory() < 0) give_up(STEP_CHDIR);
	report(MINDER_STARTING, getpid(), 0);
	execute();
}

// A separate function, so that no variable of the caller is live across the second return of vfork.
static __attribute__((noinline)) pid_t fork_child(void) {
	pid_t pid = vfork();
	if (pid == 0) child();
	return pid;
}

static long long milliseconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// Whether the timer killed the child before its exec. vfork returns when the child releases our memory, which is shortly
// before it can be waited for.
static bool was_too_slow(pid_t pid, long long began) {
	if (milliseconds() - began < order.start_ms) return false;
	// It has released our memory and can be reaped in a moment.
	for (int tries = 0; tries < DYING_MS; tries++) {
		siginfo_t info = {0};
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0) return false;
		if (info.si_pid == pid) return info.si_code == CLD_KILLED && info.si_status == SIGALRM;
		poll(NULL, 0, 1);
	}
	return false;
}

// The program's pid, or 0 if it could not be started, which is then reported.
static pid_t start(void) {
	if (!read_order()) {
		report(MINDER_FAILED, refusal, EINVAL);
		return 0;
	}
	if (!make_placeholders()) {
		report(MINDER_FAILED, STEP_PLACEHOLDER, errno);
		return 0;
	}
	if (!make_group()) {
		report(MINDER_FAILED, STEP_CGROUP, errno);
		return 0;
	}
	long long began = milliseconds();
	pid_t pid = fork_child();
	if (pid < 0) report(MINDER_FAILED, STEP_FORK, errno);
	else if (failed_step >= 0) report(MINDER_FAILED, failed_step, failed_error);
	else if (was_too_slow(pid, began)) report(MINDER_FAILED, STEP_START, ETIMEDOUT);
	else return pid;
	return 0;
}

// ---- the tree

struct list {
	struct process *items;
	size_t count, room;
};

static void add(struct list *list, struct process process) {
	if (list->count == list->room) {
		size_t room = list->room == 0 ? 64 : 2 * list->room;
		struct process *items = realloc(list->items, room * sizeof *items);
		if (items == NULL) return; // The next scan finds it again.
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = process;
}

// Adds a process if it is still a child of `parent`, or ours since its parent died.
static void add_child(struct list *list, pid_t pid, pid_t parent) {
	struct process process;
	if (!read_process(pid, &process)) return;
	if (process.parent == parent || process.parent == getpid()) add(list, process);
}

// For kernels that do not list children: checks the parent of every process.
static void search_children(struct list *list, pid_t parent) {
	DIR *all = opendir("/proc");
	for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
		struct process process;
		if (read_process((pid_t)atoi(entry->d_name), &process) && process.parent == parent) add(list, process);
	}
	if (all != NULL) closedir(all);
}

static void add_children(struct list *list, pid_t parent) {
	char path[320];
	if (access("/proc/thread-self/children", R_OK) < 0) {
		search_children(list, parent);
		return;
	}
	snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
	DIR *tasks = opendir(path);
	// Children belong to the thread that forked them.
	for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
		if (entry->d_name[0] == '.') continue;
		snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, entry->d_name);
		FILE *children = fopen(path, "re");
		for (int pid; children != NULL && fscanf(children, "%d", &pid) == 1;) add_child(list, (pid_t)pid, parent);
		if (children != NULL) fclose(children);
	}
	if (tasks != NULL) closedir(tasks);
}

// The signal to send, and the processes that got it. SIGKILL is for every process, now and later. Any other signal is for
// the processes that exist at one moment: a program may start new ones in response, such as a helper of a trap, which must
// not get it.
static int ending;
static struct list signalled;

// Time of the first signal: the newest pid, and the time in the unit of /proc/PID/stat.
static struct {
	bool is_noted;
	pid_t newest;
	double time;
} moment;

// The pid is read first: a process started between the two reads counts as existing.
static void note_moment(void) {
	char text[256];
	struct timespec now;
	char *last = read_proc("/proc/loadavg", text, sizeof text) == 0 ? NULL : strrchr(text, ' ');
	moment.newest = last == NULL ? 0 : (pid_t)atoi(last);
	clock_gettime(CLOCK_BOOTTIME, &now);
	long hertz = sysconf(_SC_CLK_TCK);
	moment.time = (double)(now.tv_sec * hertz + now.tv_nsec / (1000000000L / hertz));
	moment.is_noted = true;
}

// A tick is long. Within one, ascending pids decide.
static bool was_there(const struct process *process) {
	if (process->started != moment.time) return process->started < moment.time;
	return process->pid <= moment.newest;
}

static bool was_signalled(const struct process *process) {
	for (size_t i = 0; i < signalled.count; i++)
		if (signalled.items[i].pid == process->pid && signalled.items[i].started == process->started) return true;
	return false;
}

// Signals processes that have not got the signal yet, and returns whether there were any. The first scan finds only
// existing processes. All are collected before any is signaled, because children of a dying process get a new parent, and
// parents come before their children, because a shell whose child dies first would run its next command.
static bool scan(void) {
	struct list found = {0};
	add_children(&found, getpid());
	for (size_t i = 0; i < found.count; i++) add_children(&found, found.items[i].pid);
	bool any = false;
	for (size_t i = 0; i < found.count; i++) {
		struct process *each = &found.items[i];
		if (was_signalled(each) || (ending != SIGKILL && moment.is_noted && !was_there(each))) continue;
		any = true;
		add(&signalled, *each);
		int pidfd = open_exactly(each->pid, each->started);
		if (pidfd < 0) continue;
		// As late as possible: a process forked between this moment and the signal would be missed.
		if (!moment.is_noted) note_moment();
		signal_pidfd(pidfd, ending);
		// So that stopped processes can handle the signal.
		if (ending != SIGKILL) signal_pidfd(pidfd, SIGCONT);
		close(pidfd);
	}
	free(found.items);
	return any;
}

// ---- the watch

static pid_t program;
// Ended, reported, and kept as a zombie until the report is acknowledged, so that its process group can't be reused.
static bool is_held;
static bool is_deserted;

static void end_with(int signo) {
	if (ending == SIGKILL) return;
	ending = signo;
	signalled.count = 0;
	moment.is_noted = false;
}

static void desert(void) {
	is_deserted = true;
	is_held = false;
	end_with(SIGKILL);
}

static void report_exit(const siginfo_t *info) {
	bool by_itself = info->si_code == CLD_EXITED;
	report(MINDER_EXITED, by_itself ? info->si_status : -1, by_itself ? -1 : info->si_status);
}

// Waits for the processes of a sandbox whose program has ended, and removes its placeholders, so that a caller that gets
// the end can use their names. The kernel kills remaining sandbox processes, which takes a moment. If it takes longer, the
// placeholders stay until nothing is left at all.
static void clear_up(void) {
	for (int tries = 0; standing_count > 0 && tries < DYING_MS; tries++) {
		struct list left = {0};
		add_children(&left, getpid());
		size_t others = 0;
		for (size_t i = 0; i < left.count; i++) {
			pid_t pid = left.items[i].pid;
			if (pid != program && waitpid(pid, NULL, WNOHANG | __WALL) == 0) others++;
		}
		free(left.items);
		if (others == 0) remove_placeholders();
		else poll(NULL, 0, 1);
	}
}

// Reaps ended children. False if no child is left, and so nothing at all.
static bool reap(void) {
	while (!is_held) {
		siginfo_t info = {0};
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) return errno != ECHILD;
		if (info.si_pid == 0) return true;
		if (info.si_pid == program) {
			clear_up();
			program = 0;
			report_exit(&info);
			is_held = !is_deserted;
			if (is_held) return true;
		}
		waitpid(info.si_pid, NULL, WNOHANG | __WALL);
	}
	return true;
}

static void receive(void) {
	struct minder_message message;
	ssize_t length = recv(given[ORDER_CONTROL], &message, sizeof message, MSG_DONTWAIT);
	if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (length != sizeof message) desert();
	else if (message.kind == MINDER_SIGNAL) end_with(message.value);
	else if (message.kind == MINDER_REAP) is_held = false;
}

static void watch(int signals) {
	int seen = 0;
	long long pause_ms = FIRST_PAUSE_MS, next = 0;
	while (reap()) {
		int timeout = -1;
		if (ending != 0) {
			bool is_new = seen != ending;
			if (is_new || milliseconds() >= next) {
				is_new = scan() || is_new;
				seen = ending;
				pause_ms = is_new ? FIRST_PAUSE_MS : 2 * pause_ms < LONGEST_PAUSE_MS ? 2 * pause_ms : LONGEST_PAUSE_MS;
				next = milliseconds() + pause_ms;
			}
			timeout = (int)pause_ms;
		}
		struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = is_deserted ? -1 : given[ORDER_CONTROL], .events = POLLIN}};
		if (poll(fds, 2, timeout) < 0) continue;
		struct signalfd_siginfo signal;
		if (fds[0].revents != 0 && read(signals, &signal, sizeof signal) == sizeof signal && signal.ssi_signo == SIGUSR2) desert();
		if (fds[1].revents != 0) receive();
	}
}

static int mind(void) {
	sigset_t handled;
	sigemptyset(&handled);
	sigaddset(&handled, SIGCHLD);
	// Another server sends this when the server that started us is gone.
	sigaddset(&handled, SIGUSR2);
	int signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		report(MINDER_FAILED, STEP_FORK, errno);
		return 1;
	}
	program = start();
	if (program == 0) {
		remove_group();
		remove_placeholders();
		return 1;
	}
	// Closes the program's descriptors here, since otherwise the other ends would never see them close. This comes before the
	// report, so that a caller never finds the program's input still open because of us.
	for (int i = ORDER_STDIO; i < ORDER_FDS; i++) close(given[i]);
	report(MINDER_STARTED, program, 0);
	munmap(first_text, (size_t)(last_text - first_text));
	if (entrance >= 0) close(entrance);
	watch(signals);
	remove_group();
	remove_placeholders();
	return 0;
}

// ---- the nursery

// False if the server is gone.
static bool receive_order(void) {
	char byte;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof given)];
	} room;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room};
	if (recvmsg(NURSERY_FD, &message, MSG_CMSG_CLOEXEC) <= 0) return false;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header == NULL || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof given)) return false;
	memcpy(given, CMSG_DATA(header), sizeof given);
	return true;
}

// Waits with other minders for an order; one of them gets it.
static int wait_and_mind(pid_t nursery, int taken) {
	signal(SIGCHLD, SIG_DFL);
	// Until it has an order, a minder is useless without the nursery.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != nursery) return 0;
	if (!receive_order()) return 0;
	// The nursery ends with the server. Then a minder that a program has stopped is continued, and ends its program.
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	pid_t own = getpid();
	report(MINDER_TAKEN, own, 0);
	// The nursery must start another one.
	if (write(taken, &own, sizeof own) != sizeof own) return 1;
	close(taken);
	// This minder takes no more orders, and a child needs the descriptor number.
	dup2(1, NURSERY_FD);
	return mind();
}

// Minders waiting for orders.
struct waiting {
	pid_t *pids;
	int count;
};

static void no_longer_waits(struct waiting *waiting, pid_t pid) {
	for (int i = 0; i < waiting->count; i++)
		if (waiting->pids[i] == pid) waiting->pids[i] = waiting->pids[--waiting->count];
}

static void wake(int signo) {
	(void)signo;
}

int main(int count, char **arguments) {
	// Only SIGKILL ends us early. Signals meant for a program or for the server do not.
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	// Continues a stopped nursery when the server is killed.
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	// So that the descriptors of an order are higher than the numbers that a child needs.
	for (int fd = 0; fd < 3; fd = open("/dev/null", O_RDWR | O_CLOEXEC)) continue;
	int ahead = count > 1 ? atoi(arguments[1]) : 0;
	int taken[2];
	struct waiting waiting = {.pids = calloc((size_t)ahead + 1, sizeof(pid_t))};
	if (waiting.pids == NULL || pipe2(taken, O_CLOEXEC | O_NONBLOCK) < 0) return 1;
	// A minder that ends or stops wakes us, but only during the wait.
	sigset_t sleeping = all;
	sigdelset(&sleeping, SIGCHLD);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = wake}, NULL);
	for (int wanted = ahead;;) {
		while (waiting.count < wanted) {
			pid_t own = getpid(), pid = fork();
			if (pid == 0) return wait_and_mind(own, taken[1]);
			if (pid < 0) break;
			waiting.pids[waiting.count++] = pid;
		}
		bool is_short = waiting.count < wanted;
		// Without waiting minders, wait for an order; otherwise only for the end of all orders.
		short orders = waiting.count == 0 && !is_short ? POLLIN : 0;
		struct pollfd fds[] = {{.fd = taken[0], .events = POLLIN}, {.fd = NURSERY_FD, .events = orders}};
		struct timespec retry = {.tv_nsec = RETRY_MS * 1000000L};
		int ready = ppoll(fds, 2, is_short ? &retry : NULL, &sleeping);
		if (ready > 0 && (fds[1].revents & POLLHUP) != 0) return 0;
		if (ready > 0 && (fds[1].revents & POLLIN) != 0) wanted = 1;
		// A minder's exit status is not needed, since its socket closes. But a waiting one must be replaced. If a program stops
		// its minder, only the minder's parent learns it: a stopped minder can't report its program's end.
		int status;
		for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
			if (WIFSTOPPED(status)) kill(pid, SIGCONT);
			else no_longer_waits(&waiting, pid);
		}
		// Read afterwards: a minder that took an order and has ended reported that before. A new one with its pid must not be confused with it.
		for (pid_t pid; read(taken[0], &pid, sizeof pid) == sizeof pid; wanted = ahead) no_longer_waits(&waiting, pid);
	}
}
