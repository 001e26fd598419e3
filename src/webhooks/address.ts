/** Which addresses a webhook may have. */

import { SessionError } from "../core/errors.ts";
import type { WebhookRequest } from "../core/webhooks.ts";

/**
 * The address as it is asked for. What goes over the network in the clear is nobody's secret any more; what stays on this
 * machine may.
 */
export function checkedAddress({ url, allowsHttp }: Pick<WebhookRequest, "url" | "allowsHttp">): string {
	const address = URL.canParse(url) ? new URL(url) : undefined;
	// A parser takes some of them away, so that what is shown would be another address than what is asked for.
	if (!address || /\p{Cc}/u.test(url) || !["https:", "http:"].includes(address.protocol)) {
		throw new SessionError("invalid_argument", "url: expected an address such as https://example.org/hook");
	}
	if (address.username !== "" || address.password !== "") {
		throw new SessionError("invalid_argument", "url: an address with a password in it is shown to others", {
			hint: "leave it out: receivers know us by the signature",
		});
	}
	if (address.protocol === "https:" || allowsHttp || isLoopback(address.hostname)) return address.href;
	throw new SessionError("invalid_argument", `url: ${address.host} would be told without TLS`, {
		hint: "use https, or allowHttp if nobody on the way may be a stranger",
	});
}

function isLoopback(hostname: string): boolean {
	return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
