// report EVENT: tells the server of Hawser what happened in a coding agent. Agents run it as a hook, with JSON on stdin.
//
// It must never disturb the agent: it prints nothing, decides nothing, and exits with 0 within DEADLINE_MS, whatever
// happens. Without HAWSER_AGENT_SOCKET, outside of a session, it only reads its input.

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// In all: for the input, the connection and the answer.
#define DEADLINE_MS 500
// The server refuses longer lines. Without its payload, an event still has a name.
#define PAYLOAD_BYTES (1 << 20)
#define EVENT_BYTES 64

static char payload[PAYLOAD_BYTES];

static void leave(int signal) {
	(void)signal;
	_exit(0);
}

// Bounds everything that follows: no call needs a timeout of its own.
static void set_deadline(void) {
	const int ending[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT};
	struct sigaction action = {.sa_handler = leave};
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
		sigset_t one;
		sigemptyset(&one);
		sigaddset(&one, ending[i]);
		sigaction(ending[i], &action, NULL);
		// The agent may have blocked it.
		sigprocmask(SIG_UNBLOCK, &one, NULL);
	}
	struct itimerval timer = {.it_value = {.tv_usec = DEADLINE_MS * 1000}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

// Reads to the end, so that the agent can write all of it. Returns 0 if it is too long.
static size_t read_payload(void) {
	size_t length = 0;
	int is_too_long = 0;
	for (;;) {
		char rest[4096];
		int is_full = length == sizeof payload;
		ssize_t got = is_full ? read(0, rest, sizeof rest) : read(0, payload + length, sizeof payload - length);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) break;
		if (is_full) is_too_long = 1;
		else length += (size_t)got;
	}
	return is_too_long ? 0 : length;
}

static void write_all(int fd, const char *bytes, size_t length) {
	while (length > 0) {
		ssize_t put = write(fd, bytes, length);
		if (put < 0 && errno == EINTR) continue;
		if (put <= 0) _exit(0);
		bytes += put;
		length -= (size_t)put;
	}
}

static int is_name(const char *text) {
	size_t length = strlen(text);
	return length > 0 && length <= EVENT_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

int main(int argc, char **argv) {
	set_deadline();
	size_t length = read_payload();
	const char *path = getenv("HAWSER_AGENT_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (argc != 2 || !is_name(argv[1]) || !path || strlen(path) >= sizeof address.sun_path) return 0;
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) return 0;
	// The message is one line. In JSON, a line break is only ever a blank.
	for (size_t i = 0; i < length; i++)
		if (payload[i] == '\n' || payload[i] == '\r') payload[i] = ' ';
	char head[EVENT_BYTES + 64];
	int head_length = snprintf(head, sizeof head, "{\"method\":\"agent.hook\",\"params\":{\"event\":\"%s\",\"payload\":", argv[1]);
	write_all(fd, head, (size_t)head_length);
	if (length == 0) write_all(fd, "null", 4);
	else write_all(fd, payload, length);
	write_all(fd, "}}\n", 3);
	// The server looks at this process before it answers.
	char answer;
	while (read(fd, &answer, 1) > 0 && answer != '\n') continue;
	return 0;
}
