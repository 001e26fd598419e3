/**
 * Returns the promise's value, or undefined if the time runs out or the signal aborts first. The promise is not
 * canceled, and an error that it has later is dropped.
 */
export function valueWithin<T>(
	promise: Promise<T>,
	{ ms, signal }: { readonly ms?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<T | undefined> {
	let timer: NodeJS.Timeout | undefined;
	let stop = () => {};
	const over = new Promise<undefined>((resolve) => {
		stop = () => resolve(undefined);
		if (ms !== undefined) timer = setTimeout(stop, ms);
		if (signal?.aborted) stop();
		signal?.addEventListener("abort", stop, { once: true });
	});
	return Promise.race([promise, over]).finally(() => {
		clearTimeout(timer);
		signal?.removeEventListener("abort", stop);
	});
}

/**
 * Calls `act` with a signal that aborts after a time, or when one of the given signals does.
 *
 * It does not use `AbortSignal.timeout`: on Node 20 such a signal is garbage collected inside `AbortSignal.any` and
 * never fires.
 */
export async function withDeadline<T>(
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
