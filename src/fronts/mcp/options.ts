/** Options of the MCP front. */

import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Agents } from "../../services/agents/agents.ts";
import type { SecretRequests } from "../../services/secrets/requests.ts";
import type { Prepare } from "../../services/starts/request.ts";

export type McpOptions = {
	readonly sessions: Sessions;
	/** Rendered screens; without it, tools that need screens are refused. */
	readonly screens?: ScreenReader;
	/** The agents of all sessions. Without them, no state includes one. */
	readonly agents?: Agents;
	readonly prepare: Prepare;
	readonly secretRequests: SecretRequests;
	/** URL where a signed-in person enters a requested secret. */
	readonly secretUrl: (request: string) => string;
	readonly newUuid: () => string;
	/** The login shell of the server's account. */
	readonly shell: string;
	readonly version: string;
	/** Overrides the progress interval, for tests. */
	readonly progressMs?: number;
};
