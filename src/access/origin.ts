/** Which pages may talk to us: those of our own origin, and those that are named. */

export type Origins = {
	/** What a browser sees in front of us, whoever does the TLS. */
	readonly scheme: "http:" | "https:";
	/** As a browser sends them: `https://example.org`, `http://localhost:5173`. */
	readonly allowed: readonly string[];
};

/** Compares parsed, whole values: a name that only begins like ours is somebody else's. */
export function isAllowedOrigin(origin: string, host: string | undefined, { scheme, allowed }: Origins): boolean {
	const parsed = parseOrigin(origin);
	if (parsed === undefined) return false;
	const own = host === undefined ? undefined : parseOrigin(`${scheme}//${host}`);
	return parsed === own || isNamedOrigin(origin, allowed);
}

/** Whether it is one of those that are named, whoever we are ourselves. */
export function isNamedOrigin(origin: string, allowed: readonly string[]): boolean {
	const parsed = parseOrigin(origin);
	return parsed !== undefined && allowed.some((candidate) => parseOrigin(candidate) === parsed);
}

/** An origin in its one spelling; undefined for what is none, such as `null` and anything with a path. */
export function parseOrigin(text: string): string | undefined {
	if (!/^https?:\/\/[^/?#@\s\\]+$/i.test(text) || !URL.canParse(text)) return undefined;
	return new URL(text).origin;
}
