// Terminals: size, state, and the signals that their keys send.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "parts.h"

#ifndef TIOCSIG
#define TIOCSIG _IOW('T', 0x36, int)
#endif

static napi_value resize(napi_env env, napi_callback_info info) {
	napi_value values[3];
	if (!arguments(env, info, 3, values)) return NULL;
	struct winsize size = {.ws_col = (unsigned short)to_int(env, values[1]), .ws_row = (unsigned short)to_int(env, values[2])};
	if (ioctl(to_int(env, values[0]), TIOCSWINSZ, &size) < 0) return fail(env, "resize", errno);
	return NULL;
}

// terminal(fd) → { cols, rows, foreground, leader, echo, canonical, eof }, on either side.
static napi_value terminal(napi_env env, napi_callback_info info) {
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	int fd = to_int(env, argument);
	struct winsize size;
	struct termios modes;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || tcgetattr(fd, &modes) < 0) return fail(env, "terminal", errno);
	pid_t foreground = tcgetpgrp(fd), leader = tcgetsid(fd);
	napi_value result;
	napi_create_object(env, &result);
	set(env, result, "cols", number(env, size.ws_col));
	set(env, result, "rows", number(env, size.ws_row));
	set(env, result, "foreground", number(env, foreground > 0 ? foreground : 0));
	set(env, result, "leader", number(env, leader > 0 ? leader : 0));
	set(env, result, "echo", boolean(env, (modes.c_lflag & ECHO) != 0));
	set(env, result, "canonical", boolean(env, (modes.c_lflag & ICANON) != 0));
	set(env, result, "eof", number(env, modes.c_cc[VEOF]));
	return result;
}

// signalTerminal(fd, signo): signals the foreground group, atomically for the signals that keys send.
static napi_value signal_terminal(napi_env env, napi_callback_info info) {
	napi_value values[2];
	if (!arguments(env, info, 2, values)) return NULL;
	int fd = to_int(env, values[0]), signo = to_int(env, values[1]);
	pid_t group = tcgetpgrp(fd);
	if (group <= 0) return boolean(env, false);
	if (signo != SIGINT && signo != SIGQUIT && signo != SIGTSTP) return sent(env, kill(-group, signo));
	return sent(env, ioctl(fd, TIOCSIG, signo));
}

void add_terminal(napi_env env, napi_value exports) {
	static const struct function functions[] = {
		{"resize", resize},
		{"terminal", terminal},
		{"signalTerminal", signal_terminal},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
