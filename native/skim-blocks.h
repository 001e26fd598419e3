// Skips output 64 bytes at a time, in blocks. skim.c includes this for each kind of processor, with BLOCK_BYTES, the
// suffix of names (`NAMED`) and the compiler attributes (`FOR_PROCESSOR`).

typedef uint8_t NAMED(block) __attribute__((vector_size(BLOCK_BYTES)));

FOR_PROCESSOR static inline NAMED(block) NAMED(block_at)(const uint8_t *bytes) {
	NAMED(block) all;
	memcpy(&all, bytes, sizeof all);
	return all;
}

// One bit per byte, whose bits are all set or all clear. The first byte is the lowest bit.
FOR_PROCESSOR static inline uint64_t NAMED(mask_of)(NAMED(block) hits) {
#if defined __SSE2__ && BLOCK_BYTES == 32
	typedef char chars __attribute__((vector_size(32)));
	return (uint32_t)__builtin_ia32_pmovmskb256((chars)hits);
#elif defined __SSE2__
	typedef char chars __attribute__((vector_size(16)));
	return (uint32_t)__builtin_ia32_pmovmskb128((chars)hits);
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	typedef uint64_t halves __attribute__((vector_size(16)));
	// The multiplication collects the lowest bits of all eight bytes in the highest byte.
	halves bits = ((halves)hits & 0x0101010101010101u) * 0x0102040810204080u >> 56;
	return bits[0] | bits[1] << 8;
#else
	uint64_t mask = 0;
	for (size_t i = 0; i < BLOCK_BYTES; i++) mask |= (uint64_t)(hits[i] & 1) << i;
	return mask;
#endif
}

// The mask of all blocks for a condition on `all`.
#define MASK(condition) \
	({ \
		uint64_t mask = 0; \
		for (size_t i = 0; i < MASK_BYTES; i += BLOCK_BYTES) { \
			NAMED(block) all = NAMED(block_at)(bytes + at + i); \
			mask |= NAMED(mask_of)((NAMED(block))(condition)) << i; \
		} \
		mask; \
	})

// Skips all sequences at once if they set colors or move the cursor, as nearly all do. Returns the number of skipped
// bytes: all, or those before an incomplete sequence; zero if there is another sequence.
FOR_PROCESSOR static inline size_t NAMED(colors_at)(const uint8_t *bytes, size_t at, uint64_t escapes) {
	uint64_t second = escapes << 1;
	if (second & ~MASK(all == '[')) return 0;
	uint64_t numbers = MASK(all - '0' <= ';' - '0');
	// Adding a bit at the start of a run of digits carries it to the position after the run.
	uint64_t finals = (numbers + (second << 1)) & ~numbers;
	if (finals & ~MASK((all == 'm') | (all == 'K') | (all - 'A' <= 'H' - 'A'))) return 0;
	size_t last = MASK_BYTES - 1 - (size_t)__builtin_clzll(escapes);
	return finals >> last != 0 ? MASK_BYTES : last;
}

// Continues until a byte needs a closer look, or fewer bytes are left than one step; `*isFound` says which.
FOR_PROCESSOR static size_t NAMED(skim)(const uint8_t *bytes, size_t at, size_t end, bool *isFound) {
	while (end - at >= MASK_BYTES) {
		uint64_t controls = MASK((all == ESC) | (all == BEL) | (all == C1_LEAD));
		if (controls == 0) {
			at += MASK_BYTES;
			continue;
		}
		uint64_t escapes = MASK(all == ESC);
		size_t passed = controls == escapes ? NAMED(colors_at)(bytes, at, escapes) : 0;
		at = passed != 0 ? at + passed : after_controls(bytes, at, end, controls, isFound);
		if (*isFound) return at;
	}
	return at;
}

#undef MASK
#undef BLOCK_BYTES
#undef NAMED
#undef FOR_PROCESSOR
