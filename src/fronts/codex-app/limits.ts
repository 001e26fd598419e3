/** What one client may cost and how long things may take (contract §1.5, §2); a test can make all of it small. */

export type AppLimits = {
	/** Output of a command that we have not read; at this it waits. */
	readonly unreadBytes: number;
	/** The largest delta that is sent. */
	readonly deltaBytes: number;
	/** Bytes the kernel has not taken at which a connection is told no more of its commands. */
	readonly bufferedBytes: number;
	/** The same for answers, which wait then; so much more that output alone never keeps them waiting. */
	readonly bufferedAnswerBytes: number;
	/** What a command may be ahead of its connection; at this its output is no longer read, so that it waits. */
	readonly untoldBytes: number;
	/** How long it waits before it goes on by one read all the same; less than the core's patience with its readers. */
	readonly nudgeMs: number;
	/** What it may come to be ahead that way; then the connection is given up. */
	readonly mostUntoldBytes: number;
	/** Of one stream, collected for an answer. With every byte escaped, two of them are still a string that V8 can hold. */
	readonly collectedBytes: number;
	/** Input accepted for a command that has not taken it, in acts and in bytes; more is not acknowledged yet. */
	readonly queuedActs: number;
	readonly queuedBytes: number;
	/** Input that is not even acknowledged; more is refused as overload. */
	readonly waitingActs: number;
	readonly waitingActBytes: number;
	/** Requests of one connection that wait for their turn, or whose answer waits to be sent; more are refused as overload. */
	readonly waitingRequests: number;
	readonly waitingBytes: number;
	/** Messages of one connection that can't be read and are passed over; one more, and it is closed: that is no client. */
	readonly malformedMessages: number;
	/** How long output may come after a program's end, from others that hold its pipes or its terminal. */
	readonly drainMs: number;
	readonly pingMs: number;
	readonly probeMs: number;
	readonly messageBytes: number;
};

const KiB = 1024;
const MiB = 1024 * KiB;

export const defaultLimits: AppLimits = {
	unreadBytes: MiB,
	deltaBytes: 64 * KiB,
	bufferedBytes: 512 * KiB,
	bufferedAnswerBytes: MiB,
	untoldBytes: 256 * KiB,
	nudgeMs: 4_000,
	mostUntoldBytes: 8 * MiB,
	collectedBytes: 32 * MiB,
	queuedActs: 128,
	queuedBytes: MiB,
	waitingActs: 1024,
	waitingActBytes: 64 * MiB,
	waitingRequests: 1024,
	waitingBytes: 64 * MiB,
	malformedMessages: 1_000,
	drainMs: 2_000,
	pingMs: 30_000,
	probeMs: 5_000,
	messageBytes: 64 * MiB,
};
