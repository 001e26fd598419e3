// Passes over the parts of a terminal's output that say nothing about the terminal: text, and sequences that only draw.
// What those are is said by `skim` in src/core/skim.ts, which looks at one byte after the other; here it is 64.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <stdint.h>
#include "parts.h"

#define BEL 0x07
#define ESC 0x1B
// In UTF-8, the first byte of C1.
#define C1_LEAD 0xC2

typedef uint8_t block __attribute__((vector_size(16)));
#define BLOCK_BYTES sizeof(block)

enum { PARAMETER = 1, INTERMEDIATE = 2, PLAIN_FINAL = 4, PLAIN_SHORT = 8, LINK_TEXT = 16 };
static uint8_t kinds[256];

static void prepare(void) {
	for (int byte = 0x20; byte < 0x7F; byte++) {
		kinds[byte] |= LINK_TEXT;
		if (byte < 0x40) kinds[byte] |= PARAMETER;
		if (byte < 0x30) kinds[byte] |= INTERMEDIATE;
		if (byte >= 0x40 && strchr("JSchlnpqtuwxy", byte) == NULL) kinds[byte] |= PLAIN_FINAL;
		if (byte >= 0x30 && strchr("[]PX^_cZ", byte) == NULL) kinds[byte] |= PLAIN_SHORT;
	}
}

static bool is_control(uint8_t byte) {
	return byte == ESC || byte == BEL || byte == C1_LEAD;
}

static block block_at(const uint8_t *bytes) {
	block all;
	memcpy(&all, bytes, sizeof all);
	return all;
}

// A bit for each byte, of which all bits are set or none; that of the first one is the lowest.
static uint64_t mask_of(block hits) {
#ifdef __SSE2__
	typedef char chars __attribute__((vector_size(16)));
	return (uint32_t)__builtin_ia32_pmovmskb128((chars)hits);
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	typedef uint64_t halves __attribute__((vector_size(16)));
	// The product has the lowest bits of all eight bytes side by side in its highest byte.
	halves bits = ((halves)hits & 0x0101010101010101u) * 0x0102040810204080u >> 56;
	return bits[0] | bits[1] << 8;
#else
	uint64_t mask = 0;
	for (size_t i = 0; i < BLOCK_BYTES; i++) mask |= (uint64_t)(hits[i] & 1) << i;
	return mask;
#endif
}

static uint64_t controls_in(const uint8_t *bytes) {
	block all = block_at(bytes);
	return mask_of((block)((all == ESC) | (all == BEL) | (all == C1_LEAD)));
}

// A bit for each byte that is no parameter of a CSI: not one of 0x20 to 0x3F.
static uint64_t after_parameters(const uint8_t *bytes) {
	return mask_of((block)((block_at(bytes) & 0xE0) != 0x20));
}

// And for each that is no printable ASCII, as links are.
static uint64_t after_link_text(const uint8_t *bytes) {
	return mask_of((block)(block_at(bytes) - 0x20 > 0x5E));
}

// The first byte at or after `at` that is not of a kind, for which `after` looks at a block.
static inline size_t end_of(uint8_t kind, uint64_t (*after)(const uint8_t *), const uint8_t *bytes, size_t at, size_t end) {
	for (; end - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
		uint64_t others = after(bytes + at);
		if (others != 0) return at + (size_t)__builtin_ctzll(others);
	}
	while (at < end && kinds[bytes[at]] & kind) at++;
	return at;
}

static bool is_plain_csi(uint8_t first, uint8_t final) {
	return kinds[final] & PLAIN_FINAL && !(final == 'm' && first == '?');
}

// Each gives where the output goes on after what begins at `at`; zero if that says something, is not complete, or is none.

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

// The same where `NEAR_BYTES` can be looked at in any case: in them is all of nearly every sequence, which are colours.
#define NEAR_BYTES (2 + BLOCK_BYTES)

static inline size_t after_near_control(const uint8_t *bytes, size_t at, size_t end) {
	if (bytes[at] == ESC && bytes[at + 1] == '[') {
		uint64_t others = after_parameters(bytes + at + 2);
		size_t final = at + 2 + (size_t)__builtin_ctzll(others | 1u << BLOCK_BYTES);
		if (others != 0) return is_plain_csi(bytes[at + 2], bytes[final]) ? final + 1 : 0;
	}
	return after_control(bytes, at, end);
}

// Where controls are is found for 64 bytes at a time, without regard to what they begin: nothing has to wait for where
// that ends.
#define MASK_BYTES 64

static size_t skim_bytes(const uint8_t *bytes, size_t from, size_t end) {
	size_t at = from, passed = from;
	for (; end - at >= MASK_BYTES + NEAR_BYTES; at += MASK_BYTES) {
		uint64_t left = 0;
		for (size_t i = 0; i < MASK_BYTES; i += BLOCK_BYTES) left |= controls_in(bytes + at + i) << i;
		for (; left != 0; left &= left - 1) {
			size_t place = at + (size_t)__builtin_ctzll(left);
			if (place < passed) continue;
			passed = after_near_control(bytes, place, end);
			if (passed == 0) return place;
		}
	}
	for (; at < end; at++) {
		if (at < passed || !is_control(bytes[at])) continue;
		passed = after_control(bytes, at, end);
		if (passed == 0) return at;
	}
	return end;
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
