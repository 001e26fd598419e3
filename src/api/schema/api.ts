/** The whole native API. OpenAPI and `scripts/generate.js` start here. */

import { accessOperations } from "./access.ts";
import { agentOperations } from "./agent.ts";
import { approvalOperations } from "./approvals.ts";
import { errorMessage } from "./errors.ts";
import { feedOperations } from "./feed.ts";
import type { Schema } from "./fields.ts";
import { inputOperations } from "./input.ts";
import { leaseOperations } from "./lease.ts";
import type { OperationTable } from "./operation.ts";
import { outputOperations } from "./output.ts";
import { recordingOperations } from "./recordings.ts";
import { screenOperations } from "./screen.ts";
import { secretOperations } from "./secrets.ts";
import { sessionOperations } from "./sessions.ts";
import { shellOperations } from "./shell.ts";
import { socketMessages } from "./socket.ts";
import { systemOperations } from "./system.ts";
import { webhookOperations } from "./webhooks.ts";
import { workspaceOperations } from "./workspaces.ts";

export const operations: OperationTable = {
	...sessionOperations,
	...outputOperations,
	...screenOperations,
	...recordingOperations,
	...inputOperations,
	...agentOperations,
	...leaseOperations,
	...secretOperations,
	...shellOperations,
	...feedOperations,
	...webhookOperations,
	...workspaceOperations,
	...approvalOperations,
	...accessOperations,
	...systemOperations,
};

/** Messages that are not the body or the answer of one operation. */
export const messages: readonly Schema[] = [errorMessage, ...socketMessages];
