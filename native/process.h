// A process as /proc describes it, and a signal that reaches it or nobody.

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
	// In clock ticks since boot; with the pid it names a process for ever.
	double started;
	// Whether it is on its way out, a zombie or about to be one.
	bool is_ending;
};

// PF_EXITING of the kernel, which /proc shows among a process's flags.
#define ENDING_FLAG 4u

// Reads a file of /proc as text; how many bytes came.
static inline size_t read_proc(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0) close(fd);
	text[length < 0 ? 0 : length] = 0;
	return length < 0 ? 0 : (size_t)length;
}

// False when there is no such process.
static inline bool read_process(pid_t pid, struct process *process) {
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (read_proc(path, text, sizeof text) == 0) return false;
	// The name, in brackets, may itself hold brackets and blanks; the fields count from its last bracket.
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

// To the process that has this pid and this start time, or to none (ESRCH). The pidfd is opened before the comparison:
// should the pid have passed on in between, the signal goes to the dead one, and nowhere.
static inline int signal_exactly(pid_t pid, double started, int signo) {
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) return -1;
	struct process now;
	int result = -1, error = ESRCH;
	if (read_process(pid, &now) && now.started == started) {
		result = (int)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
		error = errno;
	}
	close(pidfd);
	errno = error;
	return result;
}
