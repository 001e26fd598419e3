/** Timeouts of the Multica front in milliseconds; most are fixed by the contract. */

export type MulticaLimits = {
	/** For the first frame of a client without a cookie. */
	readonly loginMs: number;
	/** For starting a shell: longer than any start takes, shorter than the 15 s that clients wait. */
	readonly openMs: number;
	/** Between pings of a socket. */
	readonly pingMs: number;
	/** From an unanswered ping until the socket counts as dead. Plus the time before that ping, less than 60 s. */
	readonly deadMs: number;
	/** For the kernel to accept a message. */
	readonly writeMs: number;
	/** Between two resizes. In a burst, such as dragging a divider, only the last size is applied. */
	readonly resizeMs: number;
	/** From SIGHUP to SIGKILL when a terminal is ended. */
	readonly killMs: number;
};

export const defaultTimes: MulticaLimits = {
	/** @limit signing in with a first frame | `unauthorized` */
	loginMs: 10_000,
	/** @limit starting a shell | `open_timeout`; a later shell is ended */
	openMs: 10_000,
	pingMs: 30_000,
	/** @limit a socket without a sign of life after a ping | it counts as dead */
	deadMs: 29_000,
	/** @limit a frame that the client does not read | the socket is dropped, the terminal waits */
	writeMs: 30_000,
	/** @limit sizes | one in % | of a burst the last one counts */
	resizeMs: 30,
	/** @limit from SIGHUP to SIGKILL, when a terminal is ended | SIGKILL */
	killMs: 250,
};
