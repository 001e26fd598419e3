/** Background load of measurements: a flooding session with its own reader, and one that echoes. */

import type { Session } from "../../src/core/session/session.ts";
import type { BenchHome } from "../homes.ts";

const READY = "READY";

/** A session that writes endlessly, and its active reader. */
export type Flood = {
	readonly session: Session;
	/** Bytes that the reader has received. */
	readonly bytes: number;
	/** The reader's longest time without output, in milliseconds. */
	longestStall: number;
	/** Resolves when the reader has received this many bytes. */
	received(bytes: number): Promise<void>;
};

export async function startFlood(home: BenchHome, kind: "yes" | "cat", file: string): Promise<Flood> {
	const argv = kind === "yes" ? ["yes"] : ["/bin/sh", "-c", 'while :; do cat "$0"; done', file];
	const session = await home.start(argv);
	let bytes = 0;
	let last = performance.now();
	const flood = {
		session,
		longestStall: 0,
		get bytes() {
			return bytes;
		},
		async received(wanted: number): Promise<void> {
			while (bytes < wanted) await new Promise((resolve) => setTimeout(resolve, 10));
		},
	};
	const read = async () => {
		for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) {
			if (item.kind !== "output") continue;
			bytes += item.bytes.byteLength;
			const now = performance.now();
			flood.longestStall = Math.max(flood.longestStall, now - last);
			last = now;
		}
	};
	untilClosed(home, read());
	return flood;
}

export type Echo = { readonly session: Session; onBytes: (bytes: Uint8Array) => void };

/** A raw terminal that echoes its input. */
export async function startEcho(home: BenchHome): Promise<Echo> {
	const session = await home.start(["/bin/sh", "-c", `stty raw -echo; printf ${READY}; exec cat`]);
	let greeting = "";
	const echo: Echo = { session, onBytes: () => {} };
	await new Promise<void>((resolve) => {
		const read = async () => {
			for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) {
				if (item.kind !== "output") continue;
				if (greeting === READY) {
					echo.onBytes(item.bytes);
					continue;
				}
				greeting += Buffer.from(item.bytes).toString("latin1");
				if (greeting === READY) resolve();
			}
		};
		untilClosed(home, read());
	});
	return echo;
}

/** A reader that fails before its home is closed ends the measurement; after that, it has only lost its session. */
function untilClosed(home: BenchHome, reading: Promise<void>): void {
	reading.catch((error: unknown) => {
		if (home.isClosing) return;
		console.error(error);
		process.exit(1);
	});
}
