// Descriptors: out of the way of a child's, and closed once.

#pragma once
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

// A descriptor out of the way of 0, 1 and 2, which may be free in this process and are wanted in a child.
static inline int lift(int fd) {
	if (fd < 0 || fd > 2) return fd;
	int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int error = errno;
	close(fd);
	errno = error;
	return lifted;
}

static inline void shut(int *fd) {
	if (*fd >= 0) close(*fd);
	*fd = -1;
}
