// Passes over the parts of a terminal's output that say nothing about the terminal: text, and CSI that only draw. The
// rules are those of `skim` in src/core/skim.ts, which does the same byte by byte; here eight are looked at in one go.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <stdint.h>
#include "parts.h"

#define BEL 0x07
#define ESC 0x1B
// In UTF-8, the first byte of C1.
#define C1_LEAD 0xC2
#define WORD_BYTES sizeof(uint64_t)
#define EACH_BYTE(value) (0x0101010101010101u * (value))

// Finals of CSI that say something, as far as their parameters may.
static const char telling_finals[] = "JSchlnpqtuwxy";
static bool is_plain_final[256];

static void prepare(void) {
	for (int byte = 0x40; byte < 0x7F; byte++) is_plain_final[byte] = strchr(telling_finals, byte) == NULL;
}

// With the first byte lowest, whatever the machine's order is.
static uint64_t word_at(const uint8_t *bytes) {
	uint64_t word;
	memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

// The highest bit of each byte that is `value`, and perhaps of some after the first such one.
static uint64_t equal_bytes(uint64_t word, uint8_t value) {
	uint64_t difference = word ^ EACH_BYTE(value);
	return (difference - EACH_BYTE(1)) & ~difference & EACH_BYTE(0x80);
}

static bool is_control(uint8_t byte) {
	return byte == ESC || byte == BEL || byte == C1_LEAD;
}

static size_t next_control(const uint8_t *bytes, size_t at, size_t end) {
	for (; end - at >= WORD_BYTES; at += WORD_BYTES) {
		uint64_t word = word_at(bytes + at);
		uint64_t found = equal_bytes(word, ESC) | equal_bytes(word, BEL) | equal_bytes(word, C1_LEAD);
		if (found != 0) return at + (size_t)__builtin_ctzll(found) / 8;
	}
	while (at < end && !is_control(bytes[at])) at++;
	return at;
}

// The first byte at or after `at` that is no parameter of a CSI: not one of 0x20 to 0x3F.
static size_t end_of_parameters(const uint8_t *bytes, size_t at, size_t end) {
	for (; end - at >= WORD_BYTES; at += WORD_BYTES) {
		uint64_t others = (word_at(bytes + at) & EACH_BYTE(0xE0)) ^ EACH_BYTE(0x20);
		if (others != 0) return at + (size_t)__builtin_ctzll(others) / 8;
	}
	while (at < end && (bytes[at] & 0xE0) == 0x20) at++;
	return at;
}

// Where the output goes on after the CSI that begins at `at`; zero if it says something, is not complete, or is none.
static size_t after_plain_csi(const uint8_t *bytes, size_t at, size_t end) {
	if (end - at < 3 || bytes[at + 1] != '[') return 0;
	size_t final = end_of_parameters(bytes, at + 2, end);
	if (final == end || !is_plain_final[bytes[final]]) return 0;
	// Colours, unless it is asked for them.
	return bytes[final] == 'm' && bytes[at + 2] == '?' ? 0 : final + 1;
}

static size_t skim_bytes(const uint8_t *bytes, size_t at, size_t end) {
	for (;;) {
		at = next_control(bytes, at, end);
		if (at == end) return end;
		if (bytes[at] == ESC) {
			size_t after = after_plain_csi(bytes, at, end);
			if (after == 0) return at;
			at = after;
		} else if (bytes[at] == C1_LEAD && at + 1 < end && (bytes[at + 1] & 0xE0) != 0x80) at++;
		else return at;
	}
}

// skim(bytes, from) → the first place at or after `from` that needs a closer look, or the end.
static napi_value skim(napi_env env, napi_callback_info info) {
	napi_value values[2];
	napi_typedarray_type type;
	size_t length;
	uint8_t *bytes;
	double from;
	if (!arguments(env, info, 2, values)) return NULL;
	if (napi_get_typedarray_info(env, values[0], &type, &length, (void **)&bytes, NULL, NULL) != napi_ok || type != napi_uint8_array ||
	    !to_number(env, values[1], &from) || !(from >= 0 && from <= (double)length))
		return fail(env, "skim", EINVAL);
	return number(env, (double)skim_bytes(bytes, (size_t)from, length));
}

void add_skim(napi_env env, napi_value exports) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, prepare);
	add_functions(env, exports, (const struct function[]){{"skim", skim}}, 1);
}
