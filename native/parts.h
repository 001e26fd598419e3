// Shared by the parts of the addon: registering functions, and starting threads.

#pragma once
#include <node_api.h>
#include <pthread.h>
#include <signal.h>
#include "values.h"

struct function {
	const char *name;
	napi_callback call;
};

static inline void add_functions(napi_env env, napi_value exports, const struct function *functions, size_t count) {
	for (size_t i = 0; i < count; i++) {
		napi_value function;
		napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function);
		set(env, exports, functions[i].name, function);
	}
}

// The result of sending a signal: whether a process got it.
static inline napi_value sent(napi_env env, int result) {
	if (result < 0 && errno != ESRCH) return fail(env, "signal", errno);
	return boolean(env, result >= 0);
}

// Starts a thread with a small stack and all signals blocked, which Node's own threads handle. Returns an errno.
static inline int start_thread(pthread_t *thread, void *(*run)(void *), void *argument) {
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

void add_pump(napi_env env, napi_value exports);
void add_crc(napi_env env, napi_value exports);
void add_skim(napi_env env, napi_value exports);
void add_spawn(napi_env env, napi_value exports);
void add_poller(napi_env env, napi_value exports);
void add_terminal(napi_env env, napi_value exports);
void add_system(napi_env env, napi_value exports);
void add_inspect(napi_env env, napi_value exports);
