/** The cookie that a signed-in browser shows. */

import { sessionCookies } from "../core/access.ts";

export type Cookie = {
	/** Which server it is for: browsers have one jar for all ports of a host, on which there may be several. */
	readonly server: string;
	readonly isSecure: boolean;
};

function nameOf({ server, isSecure }: Cookie): string {
	return `${isSecure ? sessionCookies.secure : sessionCookies.plain}_${server}`;
}

/** The value of a `Set-Cookie` header; an age of zero takes the cookie away. */
export function setCookie(value: string, cookie: Cookie & { readonly maxAgeMs: number }): string {
	const { maxAgeMs, isSecure } = cookie;
	const attributes = [`Max-Age=${Math.floor(maxAgeMs / 1000)}`, "Path=/", "HttpOnly", "SameSite=Strict"];
	return [`${nameOf(cookie)}=${value}`, ...attributes, ...(isSecure ? ["Secure"] : [])].join("; ");
}

/** Our cookie in a `Cookie` header; undefined if it is not there, or there twice and so in doubt. */
export function readCookie(header: string | undefined, cookie: Cookie): string | undefined {
	const prefix = `${nameOf(cookie)}=`;
	const values = (header ?? "").split(";").flatMap((pair) => {
		const text = pair.trim();
		return text.startsWith(prefix) ? [text.slice(prefix.length)] : [];
	});
	return values.length === 1 ? values[0] : undefined;
}
