// The state of a session's foreground program, as the kernel reports it.

#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Two 64-bit numbers, a full stop and the terminator.
#define IMAGE_TEXT 40
// Longer arguments are truncated: the options of a shell come first.
#define ARGUMENTS_TEXT 4096

struct sight {
	// The innermost terminal that can be inspected, if there is one; otherwise the program has pipes.
	bool has_terminal, is_inner, canonical, echo;
	// Several terminals are nested inside, and it is unknown which one is shown.
	bool is_split;
	// Available input that the program has not read.
	int unread;
	// Foreground processes: whether one runs, blocks reading that input, blocks writing to the terminal, polls the input
	// among other things, or is in disk sleep; whether all are stopped; whether we may not inspect one.
	bool runs, reads, writes, listens, on_disk, stopped, denied;
	// The most informative process: its pid, name, directory, and the call it sleeps in. No pid if there is none.
	pid_t pid;
	// Distinguishes the process from others with the same pid, and from itself before an exec.
	char image[IMAGE_TEXT];
	char name[16];
	char cwd[PATH_MAX];
	const char *call;
	// If it waits for input: bytes of stack that its first thread used at that call, which distinguish different reads of one
	// program; 0 if unknown.
	uint64_t depth;
	// If it waits for input: the beginning of its arguments, each followed by a zero, and the number of bytes.
	char arguments[ARGUMENTS_TEXT];
	size_t arguments_length;
	// Number of processes, foreground or not, up to the limit.
	int processes;
};

// Inspects the processes below `root` whose input is `fd`, our end of a terminal or pipe, or -1.
void look(int fd, pid_t root, struct sight *sight);
