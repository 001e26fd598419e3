/** The record of who did what over HTTP, for the operator. */

import { SessionError } from "../../core/errors.ts";
import { limits } from "../../protocol/messages.ts";
import { auditList, auditQuery } from "./audit-messages.ts";
import type { NativeApp, NativeOptions } from "./options.ts";

export function addAudit(app: NativeApp, { audit }: NativeOptions): void {
	app.get(
		"/v1/audit",
		{
			config: { policy: "admin", operation: "listAudit", summary: "Read who did what" },
			schema: { querystring: auditQuery, response: { 200: auditList } },
		},
		async (request) => {
			if (!audit) throw new SessionError("unsupported", "this server keeps no audit (--max-audit 0)");
			const { after = 0, limit = limits.listed, ...filter } = request.query;
			const page = await audit.read({ after, limit, ...filter });
			return { ...page, entries: [...page.entries] };
		},
	);
}
