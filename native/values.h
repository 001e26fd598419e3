// Conversion of values between JavaScript and C.

#pragma once
#include <errno.h>
#include <node_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline napi_value number(napi_env env, double value) {
	napi_value result;
	napi_create_double(env, value, &result);
	return result;
}

static inline napi_value boolean(napi_env env, bool value) {
	napi_value result;
	napi_get_boolean(env, value, &result);
	return result;
}

static inline napi_value null(napi_env env) {
	napi_value result;
	napi_get_null(env, &result);
	return result;
}

static inline void set(napi_env env, napi_value object, const char *name, napi_value value) {
	napi_set_named_property(env, object, name, value);
}

// Throws an Error with `errno` and `step`. Returns NULL, so that a function can return its result.
static inline napi_value fail(napi_env env, const char *step, int error) {
	char text[128];
	snprintf(text, sizeof text, "%s: %s", step, strerror(error));
	napi_value message, thrown, name;
	napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message);
	napi_create_error(env, NULL, message, &thrown);
	napi_create_string_utf8(env, step, NAPI_AUTO_LENGTH, &name);
	set(env, thrown, "step", name);
	set(env, thrown, "errno", number(env, error));
	napi_throw(env, thrown);
	return NULL;
}

static inline bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values) {
	size_t given = count;
	if (napi_get_cb_info(env, info, &given, values, NULL, NULL) == napi_ok && given >= count) return true;
	fail(env, "arguments", EINVAL);
	return false;
}

static inline bool to_number(napi_env env, napi_value value, double *result) {
	return napi_get_value_double(env, value, result) == napi_ok;
}

// The n-th argument as an int; -1, which no call accepts, for another type.
static inline int to_int(napi_env env, napi_value value) {
	double result;
	if (!to_number(env, value, &result) || result < -2147483648.0 || result > 2147483647.0) return -1;
	return (int)result;
}

static inline napi_value get(napi_env env, napi_value object, const char *name) {
	napi_value value;
	if (napi_get_named_property(env, object, name, &value) != napi_ok) napi_get_undefined(env, &value);
	return value;
}

static inline int get_int(napi_env env, napi_value object, const char *name, int otherwise) {
	double value;
	return to_number(env, get(env, object, name), &value) ? (int)value : otherwise;
}

// A copy that the caller frees; NULL if it is not a string or contains a NUL.
static inline char *to_string(napi_env env, napi_value value) {
	size_t length = 0;
	if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok) return NULL;
	char *text = malloc(length + 1);
	if (text == NULL) return NULL;
	napi_get_value_string_utf8(env, value, text, length + 1, &length);
	if (strlen(text) == length) return text;
	free(text);
	return NULL;
}
