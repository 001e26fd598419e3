// A seccomp filter for sandboxed programs, for the CPU architecture of this machine.
//
// Namespaces and mounts limit what a program can reach. The filter closes the remaining gaps: typing into a terminal from
// its own programs, sockets of the host in visible directories, and files that run as another user.

#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "the sandbox knows the system calls of x86-64 and arm64 only"
#endif

// Missing in some headers.
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
// The x32 calls of x86-64 have this bit in addition to the number of another call.
#define X32_BIT 0x40000000u
// The mode of open and openat counts only with one of these flags.
#define MAKES_FILE (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define OTHER_USER (S_ISUID | S_ISGID)

// More than the filter needs. The kernel accepts 4096.
static struct sock_filter filter[512];
static unsigned short filter_length;

static void emit(uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) {
	filter[filter_length++] = (struct sock_filter){code, if_true, if_false, value};
}

static void load(size_t offset) {
	emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

// The lower half of an argument, which is enough for flags, modes and numbers.
static size_t argument(int index) {
	return offsetof(struct seccomp_data, args) + (size_t)index * 8;
}

static void refuse(int error) {
	emit(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0);
}

static void deny(long number) {
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
	refuse(EPERM);
}

static void deny_equal(long number, size_t offset, uint32_t mask, uint32_t value) {
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
	load(offset);
	emit(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	refuse(EPERM);
}

static void deny_other(long number, size_t offset, uint32_t value) {
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3);
	load(offset);
	emit(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
	refuse(EPERM);
}

static void deny_bits(long number, int index, uint32_t bits) {
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3);
	load(argument(index));
	emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	refuse(EPERM);
}

// The mode is meaningless unless a file is created.
static void deny_opening(long number, int flags) {
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 5);
	load(argument(flags));
	emit(BPF_JMP | BPF_JSET | BPF_K, MAKES_FILE, 0, 3);
	load(argument(flags + 1));
	emit(BPF_JMP | BPF_JSET | BPF_K, OTHER_USER, 0, 1);
	refuse(EPERM);
}

// A set-user-ID file in a shared directory would let the program act as its user outside the sandbox.
static void deny_setuid_files(void) {
#ifdef SYS_chmod
	deny_bits(SYS_chmod, 1, OTHER_USER);
	deny_bits(SYS_creat, 1, OTHER_USER);
	deny_bits(SYS_mknod, 1, OTHER_USER);
	deny_opening(SYS_open, 1);
#endif
	deny_bits(SYS_fchmod, 1, OTHER_USER);
	deny_bits(SYS_fchmodat, 2, OTHER_USER);
	deny_bits(SYS_fchmodat2, 2, OTHER_USER);
	deny_bits(SYS_mknodat, 2, OTHER_USER);
	deny_opening(SYS_openat, 2);
	// openat2 has its mode in memory, which a filter can't read. Programs fall back to openat.
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1);
	refuse(ENOSYS);
}

// Without network only socket pairs are allowed: with addresses a program could reach the host's sockets. Calls that only
// query a socket are allowed, because bash takes a refused getpeername for a remote shell and reads its start-up files.
static void deny_network(void) {
	static const long calls[] = {
		SYS_connect, SYS_accept, SYS_accept4, SYS_bind, SYS_listen, SYS_sendmmsg, SYS_recvmmsg,
		SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) deny(calls[i]);
	static const long makers[] = {SYS_socket, SYS_socketpair};
	for (size_t i = 0; i < 2; i++) {
		deny_other(makers[i], argument(0), AF_UNIX);
		// A datagram can be sent to any address, even on a socket pair. In this family, raw sockets are the same.
		deny_equal(makers[i], argument(1), 0xf, SOCK_DGRAM);
		deny_equal(makers[i], argument(1), 0xf, SOCK_RAW);
	}
	// Without an address, sendto equals send.
	deny_other(SYS_sendto, argument(4), 0);
	deny_other(SYS_sendto, argument(4) + 4, 0);
}

// Applies to this process and its children. False if the kernel refuses.
static bool install_filter(bool has_network) {
	load(offsetof(struct seccomp_data, arch));
	emit(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
	refuse(ENOSYS);
	load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	refuse(ENOSYS);
	// io_uring bypasses filters, and keys belong to the user, not to the sandbox.
	static const long calls[] = {
		SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_add_key, SYS_keyctl, SYS_request_key,
		SYS_userfaultfd, SYS_bpf, SYS_perf_event_open,
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) deny(calls[i]);
	// These could type into a terminal in the name of the user.
	deny_equal(SYS_ioctl, argument(1), UINT32_MAX, TIOCSTI);
	deny_equal(SYS_ioctl, argument(1), UINT32_MAX, TIOCLINUX);
	// This could load rarely used kernel drivers.
	deny_equal(SYS_ioctl, argument(1), UINT32_MAX, TIOCSETD);
	deny_setuid_files();
	if (has_network) deny_equal(SYS_socket, argument(0), UINT32_MAX, AF_VSOCK);
	else deny_network();
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	struct sock_fprog program = {filter_length, filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
