// What is said between us and the nursery, and between us and a minder: one packet each.

#pragma once
#include <stdint.h>

// Where the nursery finds the socket over which orders come: each brings descriptors, namely the minder's end of its
// own socket, the program's 0, 1 and 2, and a file with the order itself.
#define NURSERY_FD 0
enum { ORDER_CONTROL, ORDER_STDIO, ORDER_TEXT = 4, ORDER_FDS };
// The environment of nursery and minders, by which they are found from outside; an order says what stands in for the blanks.
#define MINDER_MARK "HAWSER_MINDER="
#define MINDER_BLANKS "                                                                "

enum {
	// From the minder. It has the order: its own pid. From now on, but not before, the program may have been started.
	MINDER_TAKEN = 6,
	// The program runs: its pid. It could not be started: the step, and an errno.
	MINDER_STARTED = 1,
	MINDER_FAILED = 2,
	// The program ended: its exit code or -1, its signal or -1. It is not reaped yet, so that its number is still its own.
	MINDER_EXITED = 3,
	// To the minder. Every process gets this signal once; SIGKILL is looked after until none is left.
	MINDER_SIGNAL = 4,
	// The program's end was heard of, and its number may pass on.
	MINDER_REAP = 5,
};

struct minder_message {
	int32_t kind, value, other;
};

// What a start fails at.
enum { STEP_ORDER, STEP_FORK, STEP_SETSID, STEP_STDIO, STEP_PTY, STEP_LIMITS, STEP_SETGROUPS, STEP_SETGID, STEP_SETUID, STEP_CHDIR, STEP_EXEC, STEP_START, STEP_PLACEHOLDER, STEP_CGROUP };
#define STEP_NAMES {"arguments", "fork", "setsid", "stdio", "pty", "limits", "setgroups", "setgid", "setuid", "chdir", "exec", "start", "placeholder", "cgroup"}
