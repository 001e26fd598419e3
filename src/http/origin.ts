/** Compares the `Origin` header with the server's own origin and the allowed ones. */

export type Origins = {
	/** The scheme that browsers use, also if a proxy in front of us does TLS. */
	readonly scheme: "http:" | "https:";
	/** In the form browsers send: `https://example.org`, `http://localhost:5173`. */
	readonly allowed: readonly string[];
};

/** Compares whole, parsed origins: a name that only begins like ours belongs to another site. */
export function isAllowedOrigin(origin: string, host: string | undefined, { scheme, allowed }: Origins): boolean {
	const parsed = parseOrigin(origin);
	if (parsed === undefined) return false;
	const own = host === undefined ? undefined : parseOrigin(`${scheme}//${host}`);
	return parsed === own || isNamedOrigin(origin, allowed);
}

/** Whether an origin is in the list of allowed ones. */
export function isNamedOrigin(origin: string, allowed: readonly string[]): boolean {
	const parsed = parseOrigin(origin);
	return parsed !== undefined && allowed.some((candidate) => parseOrigin(candidate) === parsed);
}

/** The normalized origin; undefined for text that is not one, such as `null` or a URL with a path. */
export function parseOrigin(text: string): string | undefined {
	if (!/^https?:\/\/[^/?#@\s\\]+$/i.test(text) || !URL.canParse(text)) return undefined;
	return new URL(text).origin;
}
