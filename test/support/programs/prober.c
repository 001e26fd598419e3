// Tries one thing that a sandbox may have to refuse, and says what came of it: "ok", or the name of the error.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_to(const char *path, int flags) {
	int fd = open(path, flags, 0644);
	return fd < 0 ? -1 : 0;
}

static int reach(int type, const char *name, int is_abstract, int is_pair) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path + is_abstract, name);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (size_t)is_abstract);
	int pair[2];
	if (is_pair && socketpair(AF_UNIX, type, 0, pair) < 0) return -1;
	int fd = is_pair ? pair[0] : socket(AF_UNIX, type, 0);
	if (fd < 0) return -1;
	if (type == SOCK_STREAM) return connect(fd, (struct sockaddr *)&address, size);
	struct iovec data = {"x", 1};
	struct msghdr message = {.msg_name = &address, .msg_namelen = size, .msg_iov = &data, .msg_iovlen = 1};
	return sendmsg(fd, &message, 0) < 0 ? -1 : 0;
}

// Takes what others send to a path, or to a name without one, for as long as our input is open.
static int take(int type, const char *name, int is_abstract) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path + is_abstract, name);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (size_t)is_abstract);
	int fd = socket(AF_UNIX, type, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0) return -1;
	if (!is_abstract && chmod(name, 0777) < 0) return -1;
	if (type == SOCK_STREAM && listen(fd, 8) < 0) return -1;
	puts("taking");
	fflush(stdout);
	char byte;
	return read(0, &byte, 1) < 0 ? -1 : 0;
}

static int trace(pid_t pid) {
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0) return -1;
	waitpid(pid, NULL, __WALL);
	return (int)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static int trace_child(void) {
	pid_t pid = fork();
	if (pid == 0) pause();
	int result = trace(pid), error = errno;
	kill(pid, SIGKILL);
	errno = error;
	return result;
}

// Numbers of open descriptors, our own look at them left out.
static int descriptors(void) {
	DIR *all = opendir("/proc/self/fd");
	for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(all)) printf("%s ", entry->d_name);
	return all == NULL ? -1 : 0;
}

static int call_32(void) {
#ifdef __x86_64__
	// getpid of i386 and of x32.
	long result = 20;
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
	if (result > 0) return 0;
	return (int)syscall(0x40000000 + SYS_getpid) < 0 ? -1 : 0;
#else
	errno = ENOSYS;
	return -1;
#endif
}

static int try(const char *what, char **with) {
	struct stat status;
	if (strcmp(what, "write") == 0) return open_to(with[0], O_WRONLY | O_CREAT);
	if (strcmp(what, "read") == 0) return open_to(with[0], O_RDONLY);
	if (strcmp(what, "stat") == 0) return lstat(with[0], &status);
	if (strcmp(what, "mkdir") == 0) return mkdir(with[0], 0755);
	if (strcmp(what, "rmdir") == 0) return rmdir(with[0]);
	if (strcmp(what, "rename") == 0) return rename(with[0], with[1]);
	if (strcmp(what, "link") == 0) return link(with[0], with[1]);
	if (strcmp(what, "symlink-write") == 0) return symlink(with[0], with[1]) < 0 ? -1 : open_to(with[1], O_WRONLY | O_CREAT);
	if (strcmp(what, "bind") == 0) return mount(with[0], with[1], NULL, MS_BIND, NULL);
	if (strcmp(what, "unmount") == 0) return umount2(with[0], MNT_DETACH);
	if (strcmp(what, "remount") == 0) return mount(NULL, with[0], NULL, MS_REMOUNT | MS_BIND, NULL);
	if (strcmp(what, "mknod") == 0) return mknod(with[0], S_IFBLK | 0600, makedev(8, 0));
	if (strcmp(what, "setuid") == 0) return open_to(with[0], O_WRONLY | O_CREAT) < 0 ? -1 : chmod(with[0], 04755);
	if (strcmp(what, "setuid-open") == 0) return open(with[0], O_WRONLY | O_CREAT, 04755) < 0 ? -1 : 0;
	if (strcmp(what, "inet") == 0) return socket(AF_INET, SOCK_STREAM, 0) < 0 ? -1 : 0;
	if (strcmp(what, "netlink") == 0) return socket(AF_NETLINK, SOCK_RAW, 0) < 0 ? -1 : 0;
	if (strcmp(what, "vsock") == 0) return socket(AF_VSOCK, SOCK_STREAM, 0) < 0 ? -1 : 0;
	if (strcmp(what, "pair") == 0) {
		int pair[2];
		return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || send(pair[0], "x", 1, 0) != 1 ? -1 : 0;
	}
	if (strcmp(what, "stream") == 0) return reach(SOCK_STREAM, with[0], 0, 0);
	if (strcmp(what, "abstract") == 0) return reach(SOCK_STREAM, with[0], 1, 0);
	if (strcmp(what, "datagram") == 0) return reach(SOCK_DGRAM, with[0], 0, 0);
	if (strcmp(what, "datagram-raw") == 0) return reach(SOCK_RAW, with[0], 0, 0);
	if (strcmp(what, "datagram-pair") == 0) return reach(SOCK_DGRAM, with[0], 0, 1);
	if (strcmp(what, "take-stream") == 0) return take(SOCK_STREAM, with[0], 0);
	if (strcmp(what, "take-abstract") == 0) return take(SOCK_STREAM, with[0], 1);
	if (strcmp(what, "take-datagrams") == 0) return take(SOCK_DGRAM, with[0], 0);
	if (strcmp(what, "signal") == 0) return kill(atoi(with[0]), 0);
	if (strcmp(what, "trace") == 0) return trace(atoi(with[0]));
	if (strcmp(what, "trace-child") == 0) return trace_child();
	if (strcmp(what, "namespace") == 0) return unshare(CLONE_NEWUSER);
	if (strcmp(what, "chroot") == 0) return chroot("/tmp");
	if (strcmp(what, "type") == 0) return ioctl(0, TIOCSTI, "x");
	if (strcmp(what, "type-high") == 0) return (int)syscall(SYS_ioctl, 0, 0xffffffff00000000ul | TIOCSTI, "x");
	if (strcmp(what, "ring") == 0) return (int)syscall(SYS_io_uring_setup, 1, NULL);
	if (strcmp(what, "key") == 0) return (int)syscall(SYS_add_key, "user", "hawser", "x", 1ul, -3);
	if (strcmp(what, "fault") == 0) return (int)syscall(SYS_userfaultfd, 0);
	if (strcmp(what, "descriptors") == 0) return descriptors();
	if (strcmp(what, "32-bit") == 0) return call_32();
	errno = EINVAL;
	return -1;
}

int main(int count, char **arguments) {
	if (count < 2) return 2;
	if (try(arguments[1], arguments + 2) < 0) printf("%s\n", strerrorname_np(errno));
	else printf("ok\n");
	return 0;
}
