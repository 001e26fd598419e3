/** What the MCP front is made of. */

import type { Screens } from "../../core/screen.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { Prepare } from "../front.ts";
import type { SecretRequests } from "../secret-requests.ts";

export type McpOptions = {
	readonly sessions: Sessions;
	/** What terminals show; nobody is told, when left out. */
	readonly screens?: Screens;
	readonly prepare: Prepare;
	readonly secretRequests: SecretRequests;
	/** Where a signed-in person gives what a request asks for. */
	readonly secretUrl: (request: string) => string;
	readonly newUuid: () => string;
	/** The shell of whoever runs this server. */
	readonly shell: string;
	readonly version: string;
	/** Instead of the usual time, for tests that do not want to wait. */
	readonly progressMs?: number;
};
