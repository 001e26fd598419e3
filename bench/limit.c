// Measures the machine without Hawser: reads a terminal or a pipe and discards the bytes, or types single keys and waits
// for each echo. Prints its results as JSON.
//
//   limit pty FILE...           cat FILE... on a cooked terminal
//   limit pipe BYTES FILE...    the same through a pipe of that size
//   limit echo KEYS             keys through a raw terminal with cat on it
//   limit keys SOCKET KEYS      keys through the server of a Unix socket

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static char buffer[64 * 1024];

static void check(int result, const char *what) {
	if (result >= 0) return;
	perror(what);
	exit(1);
}

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double cpu(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Runs a program on a new terminal and returns our end of it.
static int on_terminal(char **argv, int raw) {
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	check(master, "posix_openpt");
	check(unlockpt(master), "unlockpt");
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	check(slave, "open");
	// The modes of our terminals: with IUTF8 the kernel checks each character, which costs about a tenth.
	struct termios modes;
	tcgetattr(slave, &modes);
	if (raw) cfmakeraw(&modes);
	modes.c_iflag |= IUTF8;
	tcsetattr(slave, TCSANOW, &modes);
	pid_t pid = fork();
	check(pid, "fork");
	if (pid == 0) {
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		for (int fd = 0; fd < 3; fd++) dup2(slave, fd);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(slave);
	return master;
}

static int on_pipe(char **argv, int size) {
	int fds[2];
	check(pipe2(fds, O_CLOEXEC), "pipe");
	check(fcntl(fds[0], F_SETPIPE_SZ, size), "F_SETPIPE_SZ");
	pid_t pid = fork();
	check(pid, "fork");
	if (pid == 0) {
		dup2(fds[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	return fds[0];
}

// Measured from the first byte to the last, so that the start of the program does not count.
static void read_all(int fd) {
	double start = 0, used = 0, bytes = 0;
	ssize_t length;
	while ((length = read(fd, buffer, sizeof buffer)) > 0) {
		if (bytes == 0) {
			start = now();
			used = cpu();
		}
		bytes += length;
	}
	printf("{\"bytes\":%.0f,\"seconds\":%.6f,\"cpu\":%.6f}\n", bytes, now() - start, cpu() - used);
}

static int by_size(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// Keys come at random times, up to 2 ms apart, so that they are not in step with the measured program.
static void type_keys(int in, int out, int keys) {
	double *times = calloc(keys, sizeof *times);
	srandom(1);
	for (int i = -50; i < keys; i++) {
		usleep(random() % 2000);
		double start = now();
		char key = 'a' + (i + 50) % 26, echo;
		check(write(out, &key, 1) == 1 ? 0 : -1, "write");
		check(read(in, &echo, 1) == 1 && echo == key ? 0 : -1, "echo");
		if (i >= 0) times[i] = (now() - start) * 1e6;
	}
	qsort(times, keys, sizeof *times, by_size);
	printf("{\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}\n", times[keys / 2], times[keys * 99 / 100], times[keys - 1]);
	free(times);
}

int main(int argc, char **argv) {
	char *cat[argc + 1];
	memset(cat, 0, sizeof cat);
	cat[0] = "cat";
	if (argc >= 3 && strcmp(argv[1], "pty") == 0) {
		memcpy(cat + 1, argv + 2, (argc - 2) * sizeof *argv);
		read_all(on_terminal(cat, 0));
	} else if (argc >= 4 && strcmp(argv[1], "pipe") == 0) {
		memcpy(cat + 1, argv + 3, (argc - 3) * sizeof *argv);
		read_all(on_pipe(cat, atoi(argv[2])));
	} else if (argc == 3 && strcmp(argv[1], "echo") == 0) {
		int master = on_terminal(cat, 1);
		type_keys(master, master, atoi(argv[2]));
	} else if (argc == 4 && strcmp(argv[1], "keys") == 0) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		strncpy(address.sun_path, argv[2], sizeof address.sun_path - 1);
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		check(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
		type_keys(fd, fd, atoi(argv[3]));
	} else {
		fprintf(stderr, "usage: see the head of limit.c\n");
		return 2;
	}
	return 0;
}
