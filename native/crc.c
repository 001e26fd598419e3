// CRC-32C, the checksum of journal records, with the CPU's instruction where there is one.

#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <stdint.h>
#include "parts.h"

static uint32_t table[8][256];

static void fill_table(void) {
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;
		for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
		table[0][i] = crc;
	}
	for (int i = 0; i < 256; i++)
		for (int slice = 1; slice < 8; slice++) table[slice][i] = table[slice - 1][i] >> 8 ^ table[0][table[slice - 1][i] & 255];
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *bytes, size_t length) {
	for (; length >= 8; bytes += 8, length -= 8) {
		crc ^= (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
		crc = table[7][crc & 255] ^ table[6][crc >> 8 & 255] ^ table[5][crc >> 16 & 255] ^ table[4][crc >> 24] ^
		      table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]] ^ table[0][bytes[7]];
	}
	while (length-- > 0) crc = crc >> 8 ^ table[0][(crc ^ *bytes++) & 255];
	return crc;
}

static uint32_t (*crc_of)(uint32_t, const uint8_t *, size_t) = crc_by_table;

#ifdef __x86_64__
// The instruction has a latency of three cycles but a throughput of one, so three interleaved lanes cost as much as one.
// A checksum is linear: combining the lanes takes four table lookups.
#define LANE_BYTES 4096

// Effect of a lane of zeros on each byte of a checksum.
static uint32_t past_lane[4][256];

static uint32_t shift_past_lane(uint32_t crc) {
	return past_lane[0][crc & 255] ^ past_lane[1][crc >> 8 & 255] ^ past_lane[2][crc >> 16 & 255] ^ past_lane[3][crc >> 24];
}

static uint64_t word_at(const uint8_t *bytes) {
	uint64_t word;
	memcpy(&word, bytes, 8);
	return word;
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *bytes, size_t length) {
	uint64_t first = crc;
	for (; length >= 3 * LANE_BYTES; length -= 3 * LANE_BYTES) {
		uint64_t second = 0, third = 0;
		for (const uint8_t *end = bytes + LANE_BYTES; bytes < end; bytes += 8) {
			first = __builtin_ia32_crc32di(first, word_at(bytes));
			second = __builtin_ia32_crc32di(second, word_at(bytes + LANE_BYTES));
			third = __builtin_ia32_crc32di(third, word_at(bytes + 2 * LANE_BYTES));
		}
		bytes += 2 * LANE_BYTES;
		first = shift_past_lane(shift_past_lane((uint32_t)first) ^ (uint32_t)second) ^ third;
	}
	for (; length >= 8; bytes += 8, length -= 8) first = __builtin_ia32_crc32di(first, word_at(bytes));
	crc = (uint32_t)first;
	while (length-- > 0) crc = __builtin_ia32_crc32qi(crc, *bytes++);
	return crc;
}

static void fill_past_lane(void) {
	static const uint8_t zeros[LANE_BYTES];
	for (int byte = 0; byte < 4; byte++)
		for (int bit = 0; bit < 8; bit++) {
			uint32_t past = crc_by_instruction(1u << (8 * byte + bit), zeros, LANE_BYTES);
			// XOR with the value for the rest gives every number with this highest bit.
			for (int rest = 0; rest < 1 << bit; rest++) past_lane[byte][1 << bit | rest] = past_lane[byte][rest] ^ past;
		}
}
#endif

static void prepare(void) {
	fill_table();
#ifdef __x86_64__
	if (!__builtin_cpu_supports("sse4.2")) return;
	fill_past_lane();
	crc_of = crc_by_instruction;
#endif
}

// crc32c(bytes, seed) → the checksum of the data of `seed` followed by `bytes`. `byTable` is for tests.
static napi_value crc32c(napi_env env, napi_callback_info info) {
	napi_value values[3];
	size_t given = 3;
	napi_get_cb_info(env, info, &given, values, NULL, NULL);
	napi_typedarray_type type;
	size_t length = 0;
	void *bytes = NULL;
	uint32_t seed = 0;
	if (given < 1 || napi_get_typedarray_info(env, values[0], &type, &length, &bytes, NULL, NULL) != napi_ok || type != napi_uint8_array)
		return fail(env, "crc32c", EINVAL);
	if (given > 1) napi_get_value_uint32(env, values[1], &seed);
	bool by_table = false;
	if (given > 2) napi_get_value_bool(env, values[2], &by_table);
	napi_value result;
	napi_create_uint32(env, ~(by_table ? crc_by_table : crc_of)(~seed, bytes, length), &result);
	return result;
}

void add_crc(napi_env env, napi_value exports) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, prepare);
	add_functions(env, exports, (const struct function[]){{"crc32c", crc32c}}, 1);
}
