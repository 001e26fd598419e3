/** How long something takes when nobody else is there. */

/** The processors' time that it takes: what it waits for its turn on a busy machine, and for its disk, does not count. */
export async function processorMs(work: () => unknown): Promise<number> {
	const before = process.cpuUsage();
	await work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

/** The shortest of several tries, where it is something else that would make each of them longer. */
export async function fastestMs(work: () => Promise<unknown>): Promise<number> {
	let fastest = Number.POSITIVE_INFINITY;
	for (let tries = 0; tries < 5; tries++) {
		const since = performance.now();
		await work();
		fastest = Math.min(fastest, performance.now() - since);
	}
	return fastest;
}
