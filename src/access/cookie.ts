/** The cookie that a signed-in browser shows. */

import { sessionCookies } from "../core/access.ts";

function cookieName(isSecure: boolean): string {
	return isSecure ? sessionCookies.secure : sessionCookies.plain;
}

/** The value of a `Set-Cookie` header; an age of zero takes the cookie away. */
export function setCookie(value: string, { maxAgeMs, isSecure }: { maxAgeMs: number; isSecure: boolean }): string {
	const attributes = [`Max-Age=${Math.floor(maxAgeMs / 1000)}`, "Path=/", "HttpOnly", "SameSite=Strict"];
	return [`${cookieName(isSecure)}=${value}`, ...attributes, ...(isSecure ? ["Secure"] : [])].join("; ");
}

/** Our cookie in a `Cookie` header; undefined if it is not there, or there twice and so in doubt. */
export function readCookie(header: string | undefined, isSecure: boolean): string | undefined {
	const prefix = `${cookieName(isSecure)}=`;
	const values = (header ?? "").split(";").flatMap((pair) => {
		const text = pair.trim();
		return text.startsWith(prefix) ? [text.slice(prefix.length)] : [];
	});
	return values.length === 1 ? values[0] : undefined;
}
