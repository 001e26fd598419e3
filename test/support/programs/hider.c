// Ways to get out of sight that a shell has no words for. Each ends up as a process that sleeps.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *sleep_on(void *unused) {
	(void)unused;
	for (;;) pause();
}

int main(int count, char **arguments) {
	const char *way = count > 1 ? arguments[1] : "";
	if (strcmp(way, "threads") == 0) {
		// The first thread ends: the process looks like a zombie, and is none.
		pthread_t thread;
		pthread_create(&thread, NULL, sleep_on, NULL);
		pthread_exit(NULL);
	}
	if (strcmp(way, "traced") == 0 && fork() == 0) {
		// Stopped by its tracer, and heeds nothing but SIGKILL.
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
	}
	// A sibling of ours, not a child.
	if (strcmp(way, "sibling") == 0) syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	sleep_on(NULL);
}
