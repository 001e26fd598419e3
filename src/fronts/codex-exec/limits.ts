/** What one client may cost and how long things are kept (contract §6); a test can make all of it small. */

export type ExecLimits = {
	/** Output kept of each process to be read; the oldest chunks go first. */
	readonly retainedBytes: number;
	readonly retainedChunks: number;
	/** The largest chunk that is sent. The client takes no more than 1 MiB. */
	readonly chunkBytes: number;
	/** Bytes the kernel has not taken at which a connection is told no more of its processes. */
	readonly bufferedBytes: number;
	/** The same for answers: no further request is begun. Who reads has the kernel's buffers to read from meanwhile. */
	readonly bufferedAnswerBytes: number;
	/** What a process may be ahead of its connection; at this its output is no longer read, so that it waits. */
	readonly untoldBytes: number;
	/** How long it waits before it goes on by one read all the same; less than the core's patience with its readers. */
	readonly nudgeMs: number;
	/** What it may come to be ahead that way; then the connection is given up. Half of what is kept, so nothing untold is lost. */
	readonly mostUntoldBytes: number;
	/** Write ids remembered for each process; the oldest is forgotten. */
	readonly rememberedWrites: number;
	/** Input waiting for each process, in writes and in bytes; one more waits to be accepted. */
	readonly queuedWrites: number;
	readonly queuedWriteBytes: number;
	/** How long a closed process can be read. */
	readonly closedMs: number;
	/** How long a session waits for its client to come back. */
	readonly detachedMs: number;
	/** How many wait so at once; one more, and the one that waited for longest is over. */
	readonly detachedSessions: number;
	readonly pingMs: number;
	/** How long a connection may keep silent when another wants its session. */
	readonly probeMs: number;
	readonly messageBytes: number;
	/** The client takes no larger frame. */
	readonly answerBytes: number;
	/** Messages of one connection that can't be read and are answered; one more, and it is closed: that is no client. */
	readonly malformedMessages: number;
	/** Requests waiting for their turn on one connection, and their size; at either bound no more is read from it. */
	readonly waitingRequests: number;
	readonly waitingBytes: number;
};

const KiB = 1024;
const MiB = 1024 * KiB;

export const defaultLimits: ExecLimits = {
	retainedBytes: MiB,
	retainedChunks: 50_000,
	chunkBytes: 64 * KiB,
	bufferedBytes: 512 * KiB,
	bufferedAnswerBytes: MiB,
	untoldBytes: 256 * KiB,
	nudgeMs: 4_000,
	mostUntoldBytes: 512 * KiB,
	rememberedWrites: 4096,
	queuedWrites: 128,
	queuedWriteBytes: MiB,
	closedMs: 30_000,
	detachedMs: 30_000,
	detachedSessions: 1_000,
	pingMs: 30_000,
	probeMs: 5_000,
	messageBytes: 64 * MiB,
	answerBytes: 16 * MiB,
	malformedMessages: 1_000,
	waitingRequests: 1024,
	waitingBytes: MiB,
};
