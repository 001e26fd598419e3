/** Guest links of one session. */

import type { CreatedLink, CreateLink, LinkMessage } from "../../api/types.ts";
import type { RequestOptions } from "../attach/attachment.ts";
import { type RevokeResult, revoke } from "../http/revocation.ts";
import type { Transport } from "../http/transport.ts";

export interface LinksClient {
	/** Creates a link with at most the caller's own rights. Only this answer has its address. */
	create(request?: CreateLink, options?: RequestOptions): Promise<CreatedLink>;
	/** The links that the caller may revoke, oldest first. */
	list(options?: RequestOptions): Promise<readonly LinkMessage[]>;
	/** Revokes a link and closes everything that its guests have open. */
	revoke(id: string, options?: RequestOptions): Promise<RevokeResult>;
}

export function guestLinks(transport: Transport, id: string): LinksClient {
	return {
		create: (body = {}, options) => transport.call("shareSession", { params: { id }, body, ...options }),
		list: async (options) => (await transport.call("listLinks", { params: { id }, ...options })).links,
		revoke: (link, options) => revoke(transport, "revokeLink", { params: { id, link }, ...options }),
	};
}
