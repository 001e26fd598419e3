/** What the native front is made of. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { Access } from "../../core/access.ts";
import type { Approvals } from "../../core/approvals.ts";
import type { AuditTrail } from "../../core/audit.ts";
import type { Clock } from "../../core/clock.ts";
import type { SandboxSupport } from "../../core/sandbox.ts";
import type { Screens } from "../../core/screen.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { Webhooks } from "../../core/webhooks.ts";
import type { Workspaces } from "../../core/workspaces.ts";
import type { ServerLimits } from "../../protocol/messages.ts";
import type { Prepare } from "../front.ts";
import type { Metric } from "../metric.ts";
import type { SecretRequests } from "../secret-requests.ts";
import type { FeedLog } from "./feed-log.ts";
import type { SocketLimits } from "./socket/limits.ts";

export type NativeOptions = {
	readonly sessions: Sessions;
	readonly workspaces: Workspaces;
	readonly secretRequests: SecretRequests;
	/** Whose tokens may be for workspaces; nobody's, when left out. */
	readonly access?: Pick<Access, "leaveWorkspace">;
	/** What is held until somebody approves it; nothing, when left out. */
	readonly approvals?: Approvals;
	readonly prepare: Prepare;
	readonly clock: Clock;
	/** What `/healthz` says we are. */
	readonly version: string;
	/** What people call this server: its machine's name. */
	readonly name: string;
	/** What it was told to allow, for who wants to show it. */
	readonly limits: ServerLimits;
	/** What programs may be kept from here; nothing, when left out. */
	readonly sandbox?: SandboxSupport;
	/** The record of who did what; none is kept, when left out. */
	readonly audit?: AuditTrail | undefined;
	/** What terminals show; nobody is told, when left out. */
	readonly screens?: Screens;
	/** Who is told what happens; nobody can be, when left out. */
	readonly webhooks?: Webhooks;
	/** Where browsers find the page of a session; undefined where nobody has said by what name they reach us. */
	readonly pageOf?: (session: string) => string | undefined;
	/** Instead of the usual ones, for tests that do not want to wait. */
	readonly socketLimits?: Partial<SocketLimits>;
	/** Between two changes of how a session looks that are told; a second, when left out. */
	readonly changeMs?: number | undefined;
	/** The events of all sessions, with those of the servers before; there are none from before, when left out. */
	readonly feedLog?: FeedLog;
	/** Numbers of other parts of the server, for `/metrics`. */
	readonly metrics?: () => Promise<readonly Metric[]>;
};

export type NativeApp = FastifyInstance<
	RawServerDefault,
	IncomingMessage,
	ServerResponse,
	FastifyBaseLogger,
	TypeBoxTypeProvider
>;
