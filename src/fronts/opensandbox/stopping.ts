/** How long a client waits for the end of what it wants ended. */

/** How long a tree may take to go once it can't refuse; then the signal was delivered, which is enough. */
const TEARDOWN_MS = 1_000;

/** Waits for an end that is under way, but not for a teardown that takes its time; of its failure `report` hears then. */
export async function untilDelivered(
	ending: Promise<unknown>,
	{ graceMs, report }: { readonly graceMs: number; readonly report: (error: unknown) => void },
): Promise<void> {
	let timer: NodeJS.Timeout | undefined;
	const isLate = new Promise<true>((resolve) => {
		timer = setTimeout(() => resolve(true), graceMs + TEARDOWN_MS);
	});
	try {
		if ((await Promise.race([ending, isLate])) === true) ending.catch(report);
	} finally {
		clearTimeout(timer);
	}
}
