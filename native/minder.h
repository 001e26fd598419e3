// Messages between the server and the nursery, and between the server and a minder: one packet each.

#pragma once
#include <stdint.h>

// The nursery's socket for orders. Each order has descriptors: the minder's end of its own socket, the program's 0, 1
// and 2, and a file with the order itself.
#define NURSERY_FD 0
enum { ORDER_CONTROL, ORDER_STDIO, ORDER_TEXT = 4, ORDER_FDS };
// First field of an order. After an upgrade a running server may start minders of another version, which refuse its
// orders. Increase it with every change of the fields or of the messages below.
#define ORDER_VERSION 2
// A variable that identifies nursery and minders in /proc. An order's session replaces the blanks.
#define MINDER_MARK "HAWSER_MINDER="
#define MINDER_BLANKS "                                                                "

enum {
	// From the minder: it has taken the order. Value: its own pid. Only from now on may the program have been started.
	MINDER_TAKEN = 6,
	// The program is executed next; value: its pid. From now on it may have run, unless MINDER_FAILED follows: it may kill
	// its minder before that can report the start.
	MINDER_STARTING = 7,
	// The program runs; value: its pid. Or it could not be started; values: the step and an errno.
	MINDER_STARTED = 1,
	MINDER_FAILED = 2,
	// The program has ended. Values: exit code or -1, signal or -1. It is not reaped yet, so that its pid is not reused.
	MINDER_EXITED = 3,
	// To the minder: send this signal once to every existing process. SIGKILL also goes to later ones.
	MINDER_SIGNAL = 4,
	// To the minder: the end was received, so the pid may be reused.
	MINDER_REAP = 5,
};

struct minder_message {
	int32_t kind, value, other;
};

// Steps of a start that can fail.
enum { STEP_ORDER, STEP_FORK, STEP_SETSID, STEP_STDIO, STEP_PTY, STEP_LIMITS, STEP_SETGROUPS, STEP_SETGID, STEP_SETUID, STEP_CHDIR, STEP_EXEC, STEP_START, STEP_PLACEHOLDER, STEP_CGROUP, STEP_VERSION };
#define STEP_NAMES {"arguments", "fork", "setsid", "stdio", "pty", "limits", "setgroups", "setgid", "setuid", "chdir", "exec", "start", "placeholder", "cgroup", "version"}
