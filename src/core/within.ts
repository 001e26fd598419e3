/** How long something is waited for. */

/**
 * Does something with a signal that aborts with the others, or after a time.
 *
 * `AbortSignal.timeout` is not for this: among the signals of `AbortSignal.any`, Node 20 takes it for garbage, and its
 * time never comes.
 */
export async function within<T>(
	ms: number,
	signals: readonly AbortSignal[],
	act: (over: AbortSignal) => Promise<T>,
): Promise<T> {
	const late = new AbortController();
	const timer = setTimeout(() => late.abort(), Math.ceil(ms));
	try {
		return await act(AbortSignal.any([...signals, late.signal]));
	} finally {
		clearTimeout(timer);
	}
}
