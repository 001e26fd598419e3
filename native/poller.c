// Reports ready descriptors: one thread per environment sleeps in epoll and passes tokens to the event loop.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "descriptors.h"
#include "parts.h"

struct poller {
	int epoll, stop;
	pthread_t thread;
	napi_threadsafe_function ready;
};

static void *sleep_in_epoll(void *argument) {
	struct poller *poller = argument;
	struct epoll_event events[64];
	for (;;) {
		int count = epoll_wait(poller->epoll, events, 64, -1);
		if (count < 0 && errno != EINTR) return NULL;
		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == 0) return NULL;
			napi_call_threadsafe_function(poller->ready, (void *)(uintptr_t)events[i].data.u64, napi_tsfn_nonblocking);
		}
	}
}

static void hand_over(napi_env env, napi_value callback, void *context, void *token) {
	(void)context;
	if (env == NULL || callback == NULL) return;
	napi_value receiver, argument = number(env, (double)(uintptr_t)token);
	napi_get_undefined(env, &receiver);
	napi_call_function(env, receiver, callback, 1, &argument, NULL);
}

static void stop_poller(void *argument) {
	struct poller *poller = argument;
	uint64_t one = 1;
	if (write(poller->stop, &one, sizeof one) == sizeof one) pthread_join(poller->thread, NULL);
	napi_release_threadsafe_function(poller->ready, napi_tsfn_abort);
	close(poller->epoll);
	close(poller->stop);
	free(poller);
}

// openPoller(onReady): starts the thread. `onReady` gets the tokens of ready descriptors.
static napi_value open_poller(napi_env env, napi_callback_info info) {
	napi_value callback, name;
	if (!arguments(env, info, 1, &callback)) return NULL;
	struct poller *poller = calloc(1, sizeof *poller);
	if (poller == NULL) return fail(env, "poll", ENOMEM);
	napi_create_string_utf8(env, "hawser", NAPI_AUTO_LENGTH, &name);
	poller->epoll = epoll_create1(EPOLL_CLOEXEC);
	poller->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
	int error = 0;
	if (poller->epoll < 0 || poller->stop < 0 || epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->stop, &event) < 0) error = errno;
	else if (napi_create_threadsafe_function(env, callback, NULL, name, 0, 1, NULL, NULL, NULL, hand_over, &poller->ready) != napi_ok) error = ENOMEM;
	else {
		napi_unref_threadsafe_function(env, poller->ready);
		error = start_thread(&poller->thread, sleep_in_epoll, poller);
		if (error != 0) napi_release_threadsafe_function(poller->ready, napi_tsfn_abort);
	}
	if (error != 0) {
		shut(&poller->epoll);
		shut(&poller->stop);
		free(poller);
		return fail(env, "poll", error);
	}
	napi_set_instance_data(env, poller, NULL, NULL);
	napi_add_env_cleanup_hook(env, stop_poller, poller);
	return NULL;
}

// poll(fd, forWriting, token): reports once. A descriptor can have only one interest at a time.
static napi_value poll_fd(napi_env env, napi_callback_info info) {
	napi_value values[3];
	if (!arguments(env, info, 3, values)) return NULL;
	struct poller *poller = NULL;
	napi_get_instance_data(env, (void **)&poller);
	if (poller == NULL) return fail(env, "poll", EINVAL);
	double token = 0;
	bool writing = false;
	to_number(env, values[2], &token);
	napi_get_value_bool(env, values[1], &writing);
	struct epoll_event event = {.events = EPOLLONESHOT | (writing ? EPOLLOUT : EPOLLIN), .data.u64 = (uint64_t)token};
	if (epoll_ctl(poller->epoll, EPOLL_CTL_ADD, to_int(env, values[0]), &event) < 0) return fail(env, "poll", errno);
	return NULL;
}

// holdPoller(isHeld): whether the thread keeps the event loop alive; initially it does not.
static napi_value hold_poller(napi_env env, napi_callback_info info) {
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	struct poller *poller = NULL;
	napi_get_instance_data(env, (void **)&poller);
	if (poller == NULL) return fail(env, "poll", EINVAL);
	bool held = false;
	napi_get_value_bool(env, argument, &held);
	if (held) napi_ref_threadsafe_function(env, poller->ready);
	else napi_unref_threadsafe_function(env, poller->ready);
	return NULL;
}

static napi_value unpoll_fd(napi_env env, napi_callback_info info) {
	napi_value argument;
	if (!arguments(env, info, 1, &argument)) return NULL;
	struct poller *poller = NULL;
	napi_get_instance_data(env, (void **)&poller);
	if (poller == NULL) return fail(env, "poll", EINVAL);
	struct epoll_event unused = {0};
	if (epoll_ctl(poller->epoll, EPOLL_CTL_DEL, to_int(env, argument), &unused) < 0) return fail(env, "unpoll", errno);
	return NULL;
}

void add_poller(napi_env env, napi_value exports) {
	static const struct function functions[] = {
		{"openPoller", open_poller},
		{"poll", poll_fd},
		{"unpoll", unpoll_fd},
		{"holdPoller", hold_poller},
	};
	add_functions(env, exports, functions, sizeof functions / sizeof *functions);
}
