/** How long something takes when nobody else is there. */

/** The processors' time that it takes: what it waits for its turn on a busy machine, and for its disk, does not count. */
export async function processorMs(work: () => unknown): Promise<number> {
	const before = process.cpuUsage();
	await work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}
