/** Limits per client and timeouts (contract §6). Tests make them small. */

export type ExecLimits = {
	/** Output kept per process for reading; the oldest chunks are dropped first. */
	readonly retainedBytes: number;
	readonly retainedChunks: number;
	/** Largest chunk that is sent. The client accepts up to 1 MiB. */
	readonly chunkBytes: number;
	/** At this many bytes not accepted by the kernel, a connection gets no more events. */
	readonly bufferedBytes: number;
	/** The same for answers; no further request starts. A reading client still has the kernel's buffers to read from. */
	readonly bufferedAnswerBytes: number;
	/** Events of a process that are recorded but not sent. At this limit no more output is read, so the program waits. */
	readonly unsentBytes: number;
	/** Delay after which one more read happens anyway. Less than the core's timeout for slow readers. */
	readonly nudgeMs: number;
	/**
	 * Limit of events collected by such reads. Above it the connection is closed. Half of what is kept, so unsent events
	 * are not dropped.
	 */
	readonly maxUnsentBytes: number;
	/** Write ids remembered per process; the oldest is forgotten first. */
	readonly rememberedWrites: number;
	/** Queued input per process, in writes and bytes. Further writes wait. */
	readonly queuedWrites: number;
	readonly queuedWriteBytes: number;
	/** Time that a closed process can still be read. */
	readonly closedMs: number;
	/** Time for a client to reconnect to its session. */
	readonly detachedMs: number;
	/** Sessions without a connection. Above this, the one without a connection for longest ends. */
	readonly detachedSessions: number;
	readonly pingMs: number;
	/** Time for a connection to show that it is alive when another one wants its session. */
	readonly probeMs: number;
	readonly messageBytes: number;
	/** The client accepts no larger frame. */
	readonly answerBytes: number;
	/** Invalid messages answered per connection. One more closes it. */
	readonly malformedMessages: number;
	/** Limits of waiting requests per connection. At a limit, reading pauses. */
	readonly waitingRequests: number;
	readonly waitingBytes: number;
};

const KiB = 1024;
const MiB = 1024 * KiB;

export const defaultLimits: ExecLimits = {
	/** @limit retained output of a process | the oldest chunks are dropped */
	retainedBytes: MiB,
	/** @limit retained chunks of a process | the oldest are dropped */
	retainedChunks: 50_000,
	/** @limit a chunk | it is cut */
	chunkBytes: 64 * KiB,
	/** @limit output in flight to a connection that the kernel has not taken | further output waits */
	bufferedBytes: 512 * KiB,
	/** @limit answers in flight to a connection that the kernel has not taken | no further request begins */
	bufferedAnswerBytes: MiB,
	/** @limit output of a process ahead of its connection | the program waits */
	unsentBytes: 256 * KiB,
	/** @limit a waiting program whose client does not read | it continues by one read */
	nudgeMs: 4_000,
	/**
	 * @limit output that accumulates that way (about 20 s for a constant writer) | the connection is closed as lost;
	 * the program continues, and what leaves the retained window is lost to this client
	 */
	maxUnsentBytes: 512 * KiB,
	/** @limit remembered write ids of a process | the oldest is forgotten */
	rememberedWrites: 4096,
	/** @limit writes waiting for a process | the next one waits to be accepted */
	queuedWrites: 128,
	/** @limit the same in bytes | the same */
	queuedWriteBytes: MiB,
	/** @limit a closed process | it is forgotten, and its name is free */
	closedMs: 30_000,
	/** @limit a session without a connection | its processes are ended */
	detachedMs: 30_000,
	/** @limit sessions without a connection | the one that lost its connection first ends */
	detachedSessions: 1_000,
	pingMs: 30_000,
	/** @limit a sign of life of a connection whose session another client resumes | it is cut */
	probeMs: 5_000,
	/** @limit a message | the connection is closed */
	messageBytes: 64 * MiB,
	/** @limit an answer | it is an error */
	answerBytes: 16 * MiB,
	/** @limit invalid messages of a connection | the connection is closed */
	malformedMessages: 1_000,
	/**
	 * @limit requests waiting on one connection | reading stops until half of them ran; a disconnect is then noticed
	 * too
	 */
	waitingRequests: 1024,
	/** @limit the same in bytes | the same */
	waitingBytes: MiB,
};
