/** Validates webhook URLs. */

import { isIP } from "node:net";
import { SessionError } from "../../core/errors.ts";
import { isLinkLocal } from "./resolved-address.ts";
import type { WebhookRequest } from "./webhooks.ts";

/**
 * Returns the URL unchanged. Notices must be sent over TLS, except to this machine.
 */
export function checkedAddress(
	{ url, allowsHttp }: Pick<WebhookRequest, "url" | "allowsHttp">,
	allowsLinkLocal: boolean,
): string {
	const address = URL.canParse(url) ? new URL(url) : undefined;
	// The URL parser drops control characters, so the URL shown would differ from the one requested.
	if (!address || /\p{Cc}/u.test(url) || !["https:", "http:"].includes(address.protocol)) {
		throw new SessionError("invalid_argument", "url: expected an address such as https://example.org/hook");
	}
	if (address.username !== "" || address.password !== "") {
		throw new SessionError("invalid_argument", "url: an address with a password would be visible to other callers", {
			hint: "remove the password; receivers verify the signature",
		});
	}
	const host = address.hostname.replace(/^\[(.*)\]$/, "$1");
	// A host name is resolved before each attempt.
	if (!allowsLinkLocal && isIP(host) !== 0 && isLinkLocal({ address: host, family: isIP(host) })) {
		throw new SessionError(
			"invalid_argument",
			`url: ${address.hostname} is link-local or serves metadata of the machine`,
			{
				hint: "the operator can allow it with hawser serve --webhook-link-local",
			},
		);
	}
	if (address.protocol === "https:" || allowsHttp || isLoopback(address.hostname)) return address.href;
	throw new SessionError("invalid_argument", `url: notices to ${address.host} would be sent without TLS`, {
		hint: "use https, or allowHttp on a trusted network",
	});
}

function isLoopback(hostname: string): boolean {
	return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
