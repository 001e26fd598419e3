// Skips output that does not change the terminal's state: text, and sequences that only draw. `skim` in
// src/core/terminal/skim.ts defines which; it checks byte by byte, this code 64 bytes at a time.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <stdint.h>
#include "parts.h"

#define BEL 0x07
#define ESC 0x1B
// First byte of a C1 control in UTF-8.
#define C1_LEAD 0xC2

enum { PARAMETER = 1, INTERMEDIATE = 2, PLAIN_FINAL = 4, PLAIN_SHORT = 8, LINK_TEXT = 16 };
static uint8_t kinds[256];

static bool is_control(uint8_t byte) {
	return byte == ESC || byte == BEL || byte == C1_LEAD;
}

// Controls are found in 64 bytes at a time, whether or not they begin a sequence, so that no step depends on the end of the
// previous sequence.
#define MASK_BYTES 64

static size_t after_controls(const uint8_t *bytes, size_t at, size_t end, uint64_t controls, bool *isFound);

#define BLOCK_BYTES 16
#define NAMED(name) name##_by_16
#define FOR_PROCESSOR
#include "skim-blocks.h"

#ifdef __x86_64__
#define BLOCK_BYTES 32
#define NAMED(name) name##_by_32
#define FOR_PROCESSOR __attribute__((target("avx2")))
#include "skim-blocks.h"
#endif

// One bit per byte that is not a CSI parameter (0x20 to 0x3F).
static uint64_t after_parameters(block_by_16 all) {
	return mask_of_by_16((block_by_16)((all & 0xE0) != 0x20));
}

// One bit per byte that is not printable ASCII, which links consist of.
static uint64_t after_link_text(block_by_16 all) {
	return mask_of_by_16((block_by_16)(all - 0x20 > 0x5E));
}

// The first byte at or after `at` that is not of a kind. `after` checks a block.
static inline size_t end_of(uint8_t kind, uint64_t (*after)(block_by_16), const uint8_t *bytes, size_t at, size_t end) {
	for (; end - at >= sizeof(block_by_16); at += sizeof(block_by_16)) {
		uint64_t others = after(block_at_by_16(bytes + at));
		if (others != 0) return at + (size_t)__builtin_ctzll(others);
	}
	while (at < end && kinds[bytes[at]] & kind) at++;
	return at;
}

static bool is_plain_csi(uint8_t first, uint8_t final) {
	return kinds[final] & PLAIN_FINAL && !(final == 'm' && first == '?');
}

// Each returns the end of the sequence at `at`; zero if it changes the state, is incomplete, or is not a sequence.

static size_t after_csi(const uint8_t *bytes, size_t at, size_t end) {
	size_t final = end_of(PARAMETER, after_parameters, bytes, at + 2, end);
	return final < end && is_plain_csi(bytes[at + 2], bytes[final]) ? final + 1 : 0;
}

static size_t after_link(const uint8_t *bytes, size_t at, size_t end) {
	if (end - at < 4 || bytes[at + 2] != '8' || bytes[at + 3] != ';') return 0;
	size_t last = end_of(LINK_TEXT, after_link_text, bytes, at + 4, end);
	if (last < end && bytes[last] == BEL) return last + 1;
	return end - last >= 2 && bytes[last] == ESC && bytes[last + 1] == '\\' ? last + 2 : 0;
}

static size_t after_short(const uint8_t *bytes, size_t at, size_t end) {
	size_t last = at + 1;
	while (last < end && kinds[bytes[last]] & INTERMEDIATE) last++;
	if (last == end) return 0;
	if (last > at + 1) return bytes[last] >= 0x30 && bytes[last] < 0x7F ? last + 1 : 0;
	return kinds[bytes[last]] & PLAIN_SHORT ? last + 1 : 0;
}

static size_t after_control(const uint8_t *bytes, size_t at, size_t end) {
	if (bytes[at] == BEL || end - at < 2) return 0;
	uint8_t next = bytes[at + 1];
	if (bytes[at] == C1_LEAD) return (next & 0xE0) == 0x80 ? 0 : at + 1;
	return next == '[' ? after_csi(bytes, at, end) : next == ']' ? after_link(bytes, at, end) : after_short(bytes, at, end);
}

// Skips the sequences in 64 bytes one by one, up to the first that changes the state.
static size_t after_controls(const uint8_t *bytes, size_t at, size_t end, uint64_t controls, bool *isFound) {
	size_t passed = at;
	for (; controls != 0; controls &= controls - 1) {
		size_t place = at + (size_t)__builtin_ctzll(controls);
		if (place < passed) continue;
		passed = after_control(bytes, place, end);
		if (passed == 0) {
			*isFound = true;
			return place;
		}
	}
	return passed > at + MASK_BYTES ? passed : at + MASK_BYTES;
}

typedef size_t skim_blocks(const uint8_t *bytes, size_t at, size_t end, bool *isFound);

static size_t skim_bytes(skim_blocks *blocks, const uint8_t *bytes, size_t from, size_t end) {
	bool isFound = false;
	size_t at = blocks(bytes, from, end, &isFound);
	while (!isFound && at < end) {
		size_t passed = is_control(bytes[at]) ? after_control(bytes, at, end) : at + 1;
		if (passed == 0) return at;
		at = passed;
	}
	return at;
}

static napi_value skim_with(skim_blocks *blocks, napi_env env, napi_callback_info info) {
	napi_value values[2];
	napi_typedarray_type type;
	size_t length;
	uint8_t *bytes;
	double from;
	if (!arguments(env, info, 2, values)) return NULL;
	if (napi_get_typedarray_info(env, values[0], &type, &length, (void **)&bytes, NULL, NULL) != napi_ok || type != napi_uint8_array ||
	    !to_number(env, values[1], &from) || !(from >= 0 && from <= (double)length))
		return fail(env, "skim", EINVAL);
	return number(env, (double)skim_bytes(blocks, bytes, (size_t)from, length));
}

// The best variant for this processor.
static skim_blocks *best = skim_by_16;

// skim(bytes, from) → the first index at or after `from` that needs a closer look, or the end.
static napi_value skim(napi_env env, napi_callback_info info) {
	return skim_with(best, env, info);
}

// The variant for all processors, so that it is tested everywhere.
static napi_value skim_anywhere(napi_env env, napi_callback_info info) {
	return skim_with(skim_by_16, env, info);
}

static void prepare(void) {
	for (int byte = 0x20; byte < 0x7F; byte++) {
		kinds[byte] |= LINK_TEXT;
		if (byte < 0x40) kinds[byte] |= PARAMETER;
		if (byte < 0x30) kinds[byte] |= INTERMEDIATE;
		if (byte >= 0x40 && strchr("JSchlnpqtuwxy", byte) == NULL) kinds[byte] |= PLAIN_FINAL;
		if (byte >= 0x30 && strchr("[]PX^_cZ", byte) == NULL) kinds[byte] |= PLAIN_SHORT;
	}
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) best = skim_by_32;
#endif
}

void add_skim(napi_env env, napi_value exports) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, prepare);
	add_functions(env, exports, (const struct function[]){{"skim", skim}, {"skimAnywhere", skim_anywhere}}, 2);
}
