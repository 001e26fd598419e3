/** The cookie of a signed-in browser. */

import { sessionCookies } from "../core/policy/access.ts";

export type Cookie = {
	/** Identifies the server: browsers share cookies between all ports of a host, which may have several servers. */
	readonly server: string;
	readonly isSecure: boolean;
};

function nameOf({ server, isSecure }: Cookie): string {
	return `${isSecure ? sessionCookies.secure : sessionCookies.plain}_${server}`;
}

/** The value of a `Set-Cookie` header. An age of zero deletes the cookie. */
export function setCookie(value: string, cookie: Cookie & { readonly maxAgeMs: number }): string {
	const { maxAgeMs, isSecure } = cookie;
	const attributes = [`Max-Age=${Math.floor(maxAgeMs / 1000)}`, "Path=/", "HttpOnly", "SameSite=Strict"];
	return [`${nameOf(cookie)}=${value}`, ...attributes, ...(isSecure ? ["Secure"] : [])].join("; ");
}

/** The server's cookie in a `Cookie` header; undefined if it is missing or ambiguous. */
export function readCookie(header: string | undefined, cookie: Cookie): string | undefined {
	const prefix = `${nameOf(cookie)}=`;
	const values = (header ?? "").split(";").flatMap((pair) => {
		const text = pair.trim();
		return text.startsWith(prefix) ? [text.slice(prefix.length)] : [];
	});
	return values.length === 1 ? values[0] : undefined;
}
