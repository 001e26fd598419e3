/** Durations and sizes as users write them: `500ms`, `10m`, `64MiB`. */

const msPer: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const bytesPer: Readonly<Record<string, number>> = {
	b: 1,
	kb: 1000,
	mb: 1000 ** 2,
	gb: 1000 ** 3,
	k: 1024,
	m: 1024 ** 2,
	g: 1024 ** 3,
	kib: 1024,
	mib: 1024 ** 2,
	gib: 1024 ** 3,
};

/** Milliseconds of `1h30m`, `2.5s` or `0`. Throws a RangeError that shows valid forms. */
export function parseDuration(text: string): number {
	const value = text.trim().toLowerCase();
	if (value === "0") return 0;
	const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
	if (parts.length === 0 || parts.map(([part]) => part).join("") !== value) {
		throw new RangeError(`expected a duration such as 500ms, 10s, 5m or 1h30m, not ${JSON.stringify(text)}`);
	}
	const ms = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (msPer[unit ?? ""] ?? 0), 0);
	return checked(Math.round(ms), text);
}

/** Bytes of `65536`, `64KiB` or `1.5g`. Throws a RangeError that shows valid forms. */
export function parseSize(text: string): number {
	const [, amount, unit = "b"] = /^(\d+(?:\.\d+)?)\s*([a-z]+)?$/.exec(text.trim().toLowerCase()) ?? [];
	const factor = bytesPer[unit];
	if (amount === undefined || factor === undefined) {
		throw new RangeError(`expected a size such as 65536, 64KiB or 1GiB, not ${JSON.stringify(text)}`);
	}
	return checked(Math.round(Number(amount) * factor), text);
}

function checked(value: number, text: string): number {
	if (!Number.isSafeInteger(value)) throw new RangeError(`${JSON.stringify(text)} is too large`);
	return value;
}

/** A duration in its largest unit: `3s`, `12m`, `2h`, `5d`. */
export function formatDuration(ms: number): string {
	const units = Object.entries(msPer).reverse();
	const [unit, per] = units.find(([, size]) => ms >= size && size >= 1000) ?? ["s", 1000];
	return `${Math.max(0, Math.floor(ms / per))}${unit}`;
}
