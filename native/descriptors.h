// Descriptors: moved out of the range that a child needs, and closed once.

#pragma once
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

// Moves a descriptor above 2. Lower ones may be free in this process but are needed in a child.
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
