/** The audit over HTTP, for the operator. */

import { limits } from "../../api/messages.ts";
import { SessionError } from "../../core/errors.ts";
import type { NativeOptions } from "./options.ts";
import type { Serve } from "./serve.ts";

export function addAudit(serve: Serve, { audit }: Pick<NativeOptions, "audit">): void {
	serve("listAudit", async ({ query: { after = 0, limit = limits.listed, ...filter } }) => {
		if (!audit) throw new SessionError("unsupported", "this server keeps no audit (--max-audit 0)");
		return audit.read({ after, limit, ...filter });
	});
}
