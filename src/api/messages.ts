/** Header names and limits of the native API. */

/** Headers that describe the position of an output answer. */
export const outputHeaders = {
	/** Offset of the first byte of the body. */
	offset: "hawser-offset",
	/** Offset at which to continue reading. */
	next: "hawser-next",
	/** Number of output bytes so far. */
	end: "hawser-end",
	/** The session's state. */
	state: "hawser-state",
	/** The exit as JSON, once there is one. */
	exit: "hawser-exit",
	/** Bytes before the body that are gone: `from=0, to=4096, reason=retention`. */
	gap: "hawser-gap",
	/** Bytes that a text leaves out: `from=2034, to=83258`. */
	omitted: "hawser-omitted",
} as const;

/** The lease under which a request writes. */
export const fenceHeader = "hawser-fence";

/** Idempotency key: `stream:position` for input, any word for a request that creates a session. */
export const idempotencyKeyHeader = "idempotency-key";

export const limits = {
	/**
	 * The body of a request that needs no credential: 16 KiB.
	 * @limit a body without a credential, or of a caller that may operate nothing or lacks the right everywhere | 413;
	 * 403 before it is read
	 */
	publicBodyBytes: 16_384,
	/**
	 * Any other request's body: 1 MiB.
	 * @limit any other body | 413
	 */
	bodyBytes: 1_048_576,
	/**
	 * The body that starts a program: 16 MiB. The kernel accepts 2 MiB of arguments and environment, and JSON may need
	 * six characters per byte. Larger arguments are refused by the kernel (E2BIG).
	 * @limit a body that starts a program; the kernel refuses 128 KiB a string and 2 MiB in all | 413
	 */
	startBytes: 16_777_216,
	/**
	 * An imported recording: 32 MiB, hours of a busy terminal.
	 * @limit an imported recording | 413
	 */
	recordingBytes: 33_554_432,
	/** One answer of output: 1 MiB by default, 4 MiB at most. */
	outputBytes: 1_048_576,
	/** @limit output in one answer | a shorter answer */
	maxOutputBytes: 4_194_304,
	/** Output as text. The default fits the output limit of every model; a shorter text would be mostly markers. */
	minTextBytes: 500,
	textBytes: 9_600,
	/** @limit text in one answer | its middle is left out */
	maxTextBytes: 80_000,
	/**
	 * How long one request for output may wait.
	 * @limit one wait for output, a screen or a command | the answer is the state by then
	 */
	maxWaitMs: 60_000,
	/** Time to wait for a command by default, and the length of its output in the answer. */
	runMs: 30_000,
	runOutputBytes: 65_536,
	/**
	 * One part of a command's output, for a client that reads all of it in parts.
	 * @limit one part of a command's output | the client asks for the next part
	 */
	runPartBytes: 1_048_576,
	nameLength: 64,
	/** Length of the note of a decision. */
	noteLength: 500,
	labels: 32,
	labelLength: 256,
	listed: 100,
	maxListed: 1000,
	/**
	 * A search text or expression, in UTF-16 units.
	 * @limit an expression for searches and waits | 400
	 */
	patternLength: 1000,
	maxSize: 65_535,
	keys: 1024,
	keyLength: 65_536,
	/**
	 * Paths in a sandbox policy. Each is a mount, and each takes time.
	 * @limit paths of a sandbox | 400
	 */
	sandboxPaths: 256,
	/**
	 * Roots of a workspace: each is looked up whenever a program is started.
	 * @limit roots of a workspace | 400
	 */
	roots: 32,
	/** Duration of a lease over HTTP: minimum, default, maximum. */
	minLeaseMs: 1_000,
	leaseMs: 60_000,
	/** @limit control taken over HTTP; 60 s by default | it is given back */
	maxLeaseMs: 3_600_000,
	/** Time that a killed program gets to end by itself. */
	maxGraceMs: 600_000,
	/** Longest silence of an event stream. */
	heartbeatMs: 15_000,
	/**
	 * How long, and how many, idempotency keys of created sessions are remembered.
	 * @limit the key of a request that created a session | it is forgotten, and a repeat starts a program
	 */
	idempotencyMs: 86_400_000,
	/** @limit such keys | the oldest is forgotten */
	idempotencyKeys: 10_000,
	/**
	 * Screens per stream, and cells per screen.
	 * @limit screens of one stream | 400
	 */
	tiles: 32,
	/** @limit one screen in a stream | % cells | an error for that session */
	tileCells: 20_000,
	/**
	 * Events that the feed keeps: one night of fifty agents that ask something every three minutes.
	 * @limit remembered events of all sessions | the oldest are dropped; an older cursor gets a gap
	 */
	feedEvents: 10_000,
	/** Time without output for a `quiet` event: minimum, default, maximum. */
	minQuietMs: 1_000,
	quietMs: 60_000,
	/** @limit a silence to listen for; 1 s at least | 400 */
	maxQuietMs: 86_400_000,
} as const;
