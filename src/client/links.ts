/** The links by which one session is shared with guests. */

import type { CreatedLink, CreateLink, LinkList, LinkMessage } from "../protocol/access.ts";
import { sessionPath } from "./address.ts";
import type { ActOptions } from "./attachment.ts";
import { type Ended, end } from "./ended.ts";
import type { Transport } from "./transport.ts";

export interface LinksClient {
	/** Makes one that lets its guest do no more than we may; its address is told only now. */
	create(request?: CreateLink, options?: ActOptions): Promise<CreatedLink>;
	/** Those that we may end, oldest first. */
	list(options?: ActOptions): Promise<readonly LinkMessage[]>;
	/** Ends it, and all that its guests have open. */
	revoke(id: string, options?: ActOptions): Promise<Ended>;
}

export function linksAt(transport: Transport, session: string): LinksClient {
	const root = `${sessionPath(session)}/links`;
	return {
		async create(request = {}, { signal } = {}) {
			const response = await transport.request({ method: "POST", path: root, json: request, signal });
			return (await response.json()) as CreatedLink;
		},
		async list({ signal } = {}) {
			const response = await transport.request({ path: root, signal });
			return ((await response.json()) as LinkList).links;
		},
		revoke: (id, { signal } = {}) =>
			end(transport, { method: "DELETE", path: `${root}/${encodeURIComponent(id)}`, signal }),
	};
}
