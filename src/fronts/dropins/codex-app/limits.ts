/** Limits per client and timeouts (contract §1.5, §2). Tests make them small. */

export type AppLimits = {
	/** Unread output of a command. At this limit the program waits. */
	readonly unreadBytes: number;
	/** The largest delta that is sent. */
	readonly deltaBytes: number;
	/** At this many bytes not accepted by the kernel, a connection gets no more output. */
	readonly bufferedBytes: number;
	/** The same for answers. The difference to `bufferedBytes` keeps output alone from delaying answers. */
	readonly bufferedAnswerBytes: number;
	/** Output of a command that is read but not sent. At this limit no more is read, so the program waits. */
	readonly unsentBytes: number;
	/** Delay after which one more read happens anyway. Less than the core's timeout for slow readers. */
	readonly nudgeMs: number;
	/** Limit of output collected by such reads. Above it the connection is closed. */
	readonly maxUnsentBytes: number;
	/** Bytes of one stream collected for an answer. Two streams with every byte escaped still fit in one V8 string. */
	readonly collectedBytes: number;
	/** Acknowledged input that the command has not taken, in actions and bytes. Further acknowledgments wait. */
	readonly queuedActs: number;
	readonly queuedBytes: number;
	/** Input without an acknowledgment. More is refused as overload. */
	readonly waitingActs: number;
	readonly waitingActBytes: number;
	/** Requests waiting for their turn plus answers waiting to be sent, per connection. More are refused as overload. */
	readonly waitingRequests: number;
	readonly waitingBytes: number;
	/** Invalid messages ignored per connection. One more closes it. */
	readonly malformedMessages: number;
	/** Time for output after the program's end, from other processes that hold its pipes or terminal. */
	readonly drainMs: number;
	readonly pingMs: number;
	readonly probeMs: number;
	readonly messageBytes: number;
};

const KiB = 1024;
const MiB = 1024 * KiB;

export const defaultLimits: AppLimits = {
	unreadBytes: MiB,
	/** @limit a delta | it is cut */
	deltaBytes: 64 * KiB,
	/** @limit output in flight to a connection that the kernel has not taken | further output waits */
	bufferedBytes: 512 * KiB,
	/** @limit answers in flight to a connection that the kernel has not taken | the next waits */
	bufferedAnswerBytes: MiB,
	/** @limit output of a command ahead of its connection | the program waits */
	unsentBytes: 256 * KiB,
	/** @limit a waiting program whose client does not read | it continues by one read */
	nudgeMs: 4_000,
	/** @limit output that accumulates that way | the connection is closed, and its commands end */
	maxUnsentBytes: 8 * MiB,
	/**
	 * @limit output of each stream in an answer, whatever was requested | -32603 instead of a partial answer;
	 * `process/exited` says `…CapReached`
	 */
	collectedBytes: 32 * MiB,
	/** @limit writes acknowledged and not taken by the program | the next acknowledgment waits */
	queuedActs: 128,
	/** @limit the same in bytes, beyond what the core and the pipe hold (192 KiB) | the same */
	queuedBytes: MiB,
	/** @limit writes not acknowledged | -32001 `Server overloaded; retry later.` */
	waitingActs: 1024,
	/** @limit the same in bytes | the same */
	waitingActBytes: 64 * MiB,
	/** @limit waiting requests and answers of one connection | -32001; `terminate` and `kill` are always handled */
	waitingRequests: 1024,
	/** @limit the same in bytes | the same */
	waitingBytes: 64 * MiB,
	/** @limit invalid messages of a connection | the connection is closed */
	malformedMessages: 1_000,
	/**
	 * @limit output after a program's end, from other holders of its pipes or terminal | what is there is reported,
	 * then the answer
	 */
	drainMs: 2_000,
	pingMs: 30_000,
	probeMs: 5_000,
	/** @limit a message | the connection is closed */
	messageBytes: 64 * MiB,
};
