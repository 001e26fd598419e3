// A process as described in /proc, and signals that can't reach another process with a reused pid.

#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

struct process {
	pid_t pid, parent;
	// In clock ticks since boot. Together with the pid it identifies a process.
	double started;
	// Whether it is exiting or a zombie.
	bool is_ending;
};

// The kernel's PF_EXITING, shown among a process's flags in /proc.
#define ENDING_FLAG 4u

// Reads a file of /proc as text; returns the number of bytes.
static inline size_t read_proc(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0) close(fd);
	text[length < 0 ? 0 : length] = 0;
	return length < 0 ? 0 : (size_t)length;
}

// False if there is no such process.
static inline bool read_process(pid_t pid, struct process *process) {
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (read_proc(path, text, sizeof text) == 0) return false;
	// The name in parentheses may itself contain parentheses and blanks, so fields count from the last parenthesis.
	char *field = strrchr(text, ')');
	if (field == NULL) return false;
	process->pid = pid;
	for (int i = 2; field != NULL && i < 22; i++) {
		field = strchr(field + 1, ' ');
		if (i == 3 && field != NULL) process->parent = (pid_t)atoi(field + 1);
		if (i == 8 && field != NULL) process->is_ending = (strtoul(field + 1, NULL, 10) & ENDING_FLAG) != 0;
	}
	if (field == NULL) return false;
	process->started = strtod(field + 1, NULL);
	return true;
}

// A pidfd of the process with this pid and start time; -1 with ESRCH if there is none. It is opened before the comparison:
// if the pid is reused in between, the pidfd refers to the dead process, and signals to it have no effect.
static inline int open_exactly(pid_t pid, double started) {
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) return -1;
	struct process now;
	if (read_process(pid, &now) && now.started == started) return pidfd;
	close(pidfd);
	errno = ESRCH;
	return -1;
}

static inline int signal_pidfd(int pidfd, int signo) {
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
}

static inline int signal_exactly(pid_t pid, double started, int signo) {
	int pidfd = open_exactly(pid, started);
	if (pidfd < 0) return -1;
	int result = signal_pidfd(pidfd, signo), error = errno;
	close(pidfd);
	errno = error;
	return result;
}
