/** How long the Multica front waits for what, in milliseconds; the contract names most of them. */

export type Times = {
	/** For the first frame of a client that has no cookie. */
	readonly loginMs: number;
	/** For a shell to be started: longer than one ever takes, and shorter than the 15 s that clients wait. */
	readonly openMs: number;
	/** Between the pings of a socket. */
	readonly pingMs: number;
	/** After a ping without anything, before a socket counts as dead; with what may pass until that ping, less than 60 s. */
	readonly deadMs: number;
	/** Until the kernel must have taken a message. */
	readonly writeMs: number;
	/** Between two sizes that are set: of a burst, as from a divider that is dragged, the last one counts. */
	readonly resizeMs: number;
	/** From SIGHUP to SIGKILL, when a terminal is ended. */
	readonly killMs: number;
};

export const defaultTimes: Times = {
	loginMs: 10_000,
	openMs: 10_000,
	pingMs: 30_000,
	deadMs: 29_000,
	writeMs: 30_000,
	resizeMs: 30,
	killMs: 250,
};
