/** Programs started by minders alone, for tests below the backends. */

import { closeSync } from "node:fs";
import type { ProgramFds, Reaped } from "../../src/native/addon.ts";
import { candidates, Minder, type Order } from "../../src/native/minder.ts";

export type Started = ProgramFds & {
	readonly pid: number;
	readonly exited: Promise<Reaped | undefined>;
	/** Ends it with all its descendants, and closes the given ends, or by default all of them. */
	readonly end: (fds?: readonly number[]) => Promise<void>;
};

export function startProgram(argv: readonly string[], options: Partial<Order> = {}): Promise<Started> {
	const path = process.env.PATH ?? "";
	const order: Order = {
		session: "test",
		stdio: "pipe",
		size: { cols: 80, rows: 24 },
		files: candidates(argv[0] ?? "", path),
		argv,
		env: [`PATH=${path}`],
		cwd: "/",
		startMs: 10_000,
		...options,
	};
	return Minder.start(order, (minder) => {
		const { input, output, error, slave, wake } = minder.ends;
		return {
			...minder.ends,
			pid: minder.pid,
			exited: new Promise((resolve) => minder.onExit(resolve)),
			async end(fds = [input, output, error, slave, wake]) {
				minder.signalAll(9);
				await minder.gone;
				for (const fd of fds) if (fd >= 0) closeSync(fd);
			},
		};
	});
}
