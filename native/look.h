// What the program in front of a session is doing, as the kernel tells it.

#pragma once
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

// Two numbers of 64 bits, a full stop and the end.
#define IMAGE_TEXT 40

struct sight {
	// The innermost terminal that can be seen, if there is one; else the program has pipes.
	bool has_terminal, is_inner, canonical, echo;
	// Several terminals were made further in, and nobody can tell which of them is shown.
	bool is_split;
	// Input that is there for the program, and that it has not read.
	int unread;
	// Of the processes in front: whether one runs, one is blocked reading that input, writing to the terminal, listening
	// for the input among other things, or in the disk's hands; whether all are stopped; whether we may not look at one.
	bool runs, reads, writes, listens, on_disk, stopped, denied;
	// The process that says most about it: who it is, where, and what it sleeps in. No pid when there is none.
	pid_t pid;
	// By which it is told from others that have its number before or after it, and from what it was before an exec.
	char image[IMAGE_TEXT];
	char name[16];
	char cwd[PATH_MAX];
	const char *call;
	// How many there are, in front or not, as far as they are counted.
	int processes;
};

// Looks at what has its input from `fd`, our end of a terminal or of a pipe or -1, among the processes below `root`.
void look(int fd, pid_t root, struct sight *sight);
