/** Options of the native front. */

import type { Socket } from "node:net";
import type { ServerLimits } from "../../api/types.ts";
import type { Clock } from "../../core/async/clock.ts";
import type { Access } from "../../core/policy/access.ts";
import type { Approvals } from "../../core/policy/approvals.ts";
import type { AuditTrail } from "../../core/policy/audit.ts";
import type { SandboxSupport } from "../../core/process/sandbox-policy.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Workspaces } from "../../core/session/workspaces.ts";
import type { Agents } from "../../services/agents/agents.ts";
import type { PromptQueue } from "../../services/agents/prompt-queue.ts";
import type { Attachments } from "../../services/attachments/attachments.ts";
import type { FeedLog } from "../../services/feed/feed-log.ts";
import type { Metric } from "../../services/metrics/metric.ts";
import type { SecretRequests } from "../../services/secrets/requests.ts";
import type { Prepare } from "../../services/starts/request.ts";
import type { Webhooks } from "../../services/webhooks/webhooks.ts";
import type { SocketLimits } from "./limits.ts";

export type NativeOptions = {
	readonly sessions: Sessions;
	readonly workspaces: Workspaces;
	readonly secretRequests: SecretRequests;
	/** Credentials limited to workspaces, if there are any. */
	readonly access?: Pick<Access, "leaveWorkspace">;
	/** Held actions, if tokens may have gates. */
	readonly approvals?: Approvals;
	/**
	 * The sessions, also of other servers, that a connection's peer runs in; undefined if that can't be known any more.
	 */
	readonly sessionsOfPeer?: (connection: Socket) => readonly string[] | undefined;
	readonly prepare: Prepare;
	readonly clock: Clock;
	/** The version reported by `/healthz`. */
	readonly version: string;
	/** Name of the server for people: its machine's host name. */
	readonly name: string;
	/** The configured limits, for display. */
	readonly limits: ServerLimits;
	/** Sandboxes that can be enforced; none if absent. */
	readonly sandbox?: SandboxSupport;
	/** The audit log, if one is kept. */
	readonly audit?: AuditTrail | undefined;
	/** Rendered screens, if the server has them. */
	readonly screens?: ScreenReader;
	/** Webhooks, if the server has them. */
	readonly webhooks?: Webhooks;
	/** Returns the page of a session in the web UI; undefined if the server's public URL is not known. */
	readonly pageOf?: (session: string) => string | undefined;
	/** Overrides of the default limits, for tests. */
	readonly socketLimits?: Partial<SocketLimits>;
	/** Interval between reported changes of a session's overview; one second if absent. */
	readonly changeMs?: number | undefined;
	/** Clients attached to sessions, and the agents of all sessions; this front's own if absent. */
	readonly attachments?: Attachments;
	readonly agents?: Agents;
	/** Queued prompts for agents. Without it, queues end with the server. */
	readonly prompts?: PromptQueue;
	/** The stored feed, including events of previous servers; a new one if absent. */
	readonly feedLog?: FeedLog;
	/** Metrics of other parts of the server, for `/metrics`. */
	readonly metrics?: () => Promise<readonly Metric[]>;
};
