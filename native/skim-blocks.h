// How output is passed over 64 bytes at a time, which are looked at in blocks. skim.c includes this for each kind of
// processor, with BLOCK_BYTES, what the names end in (`NAMED`), and what the compiler is told (`FOR_PROCESSOR`).

typedef uint8_t NAMED(block) __attribute__((vector_size(BLOCK_BYTES)));

FOR_PROCESSOR static inline NAMED(block) NAMED(block_at)(const uint8_t *bytes) {
	NAMED(block) all;
	memcpy(&all, bytes, sizeof all);
	return all;
}

// A bit for each byte, of which all bits are set or none; that of the first one is the lowest.
FOR_PROCESSOR static inline uint64_t NAMED(mask_of)(NAMED(block) hits) {
#if defined __SSE2__ && BLOCK_BYTES == 32
	typedef char chars __attribute__((vector_size(32)));
	return (uint32_t)__builtin_ia32_pmovmskb256((chars)hits);
#elif defined __SSE2__
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

// The mask of all blocks for a condition on one of them.
#define MASK(condition) \
	({ \
		uint64_t mask = 0; \
		for (size_t i = 0; i < MASK_BYTES; i += BLOCK_BYTES) { \
			NAMED(block) all = NAMED(block_at)(bytes + at + i); \
			mask |= NAMED(mask_of)((NAMED(block))(condition)) << i; \
		} \
		mask; \
	})

// Passes over all sequences at once, if they are colours or move the cursor, which nearly all are. Gives how many bytes
// are passed: all, or those before a sequence that is not complete; zero if there is something else.
FOR_PROCESSOR static inline size_t NAMED(colours_at)(const uint8_t *bytes, size_t at, uint64_t escapes) {
	uint64_t second = escapes << 1;
	if (second & ~MASK(all == '[')) return 0;
	uint64_t numbers = MASK(all - '0' <= ';' - '0');
	// A bit that is added at the first of some numbers is carried to what comes after the last of them.
	uint64_t finals = (numbers + (second << 1)) & ~numbers;
	if (finals & ~MASK((all == 'm') | (all == 'K') | (all - 'A' <= 'H' - 'A'))) return 0;
	size_t last = MASK_BYTES - 1 - (size_t)__builtin_clzll(escapes);
	return finals >> last != 0 ? MASK_BYTES : last;
}

// Goes on until something needs a closer look, or fewer bytes are left than are looked at together; `*isFound` says which.
FOR_PROCESSOR static size_t NAMED(skim)(const uint8_t *bytes, size_t at, size_t end, bool *isFound) {
	while (end - at >= MASK_BYTES) {
		uint64_t controls = MASK((all == ESC) | (all == BEL) | (all == C1_LEAD));
		if (controls == 0) {
			at += MASK_BYTES;
			continue;
		}
		uint64_t escapes = MASK(all == ESC);
		size_t passed = controls == escapes ? NAMED(colours_at)(bytes, at, escapes) : 0;
		at = passed != 0 ? at + passed : after_controls(bytes, at, end, controls, isFound);
		if (*isFound) return at;
	}
	return at;
}

#undef MASK
#undef BLOCK_BYTES
#undef NAMED
#undef FOR_PROCESSOR
