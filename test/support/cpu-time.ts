/** How long something takes on an idle machine. */

/** CPU time, without time spent waiting for the processor or the disk. */
export async function processorMs(work: () => unknown): Promise<number> {
	const before = process.cpuUsage();
	await work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

/** The shortest of several tries, since other load makes each of them longer. */
export async function fastestMs(work: () => Promise<unknown>): Promise<number> {
	let fastest = Number.POSITIVE_INFINITY;
	for (let tries = 0; tries < 5; tries++) {
		const since = performance.now();
		await work();
		fastest = Math.min(fastest, performance.now() - since);
	}
	return fastest;
}
