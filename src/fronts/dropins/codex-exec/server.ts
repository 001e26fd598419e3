/** One exec-server: its client sessions, and the way from a wire to a connection. */

import type { Principal } from "../../../core/policy/access.ts";
import { noAudit } from "../../../core/policy/audit.ts";
import { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import { checkStartRate } from "../../../core/policy/start-rate.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { checkUnconfined, defaultWorkspace, type WorkspaceRules } from "../../../core/session/workspaces.ts";
import type { Prepare, StartRequest } from "../../../services/starts/request.ts";
import { openStdio, type Stdio, stdioBearer } from "../../json-rpc/stdio.ts";
import type { RpcWire } from "../../json-rpc/wire.ts";
import { ExecSessions } from "./client-sessions.ts";
import { Connection } from "./connection.ts";
import { createRunConfined, type RunConfined } from "./files/sandboxed.ts";
import { defaultLimits, type ExecLimits } from "./limits.ts";

export type ExecServerOptions = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** If there are workspaces, its programs belong to the default one. */
	readonly workspaces?: Pick<WorkspaceRules, "get">;
	/** The part of the server's environment that clients may inherit. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Version of this server, reported to clients. */
	readonly version: string;
	/** Path of the worker for sandboxed file requests; the built-in one if absent. */
	readonly fileWorker?: string;
	readonly newUuid: () => string;
	/** Requests of one connection that run at the same time; 1 if absent. */
	readonly concurrency?: number;
	readonly limits?: Partial<ExecLimits>;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

/** The client of a connection. */
type Peer = {
	readonly principal: Pick<Principal, "id" | "countCreation">;
	/** Performs and audits the connection's actions. */
	readonly witness: AuditedCaller;
	/** Name of the connection in the answer to an invalid message. */
	readonly source: string;
};

export class ExecServer {
	readonly limits: ExecLimits;
	readonly #options: ExecServerOptions;
	readonly #sessions: ExecSessions;

	constructor(options: ExecServerOptions) {
		this.#options = options;
		this.limits = { ...defaultLimits, ...options.limits };
		const { sessions, newUuid, report } = options;
		this.#sessions = new ExecSessions({ sessions, newUuid, report, limits: this.limits });
	}

	connect(wire: RpcWire, { principal, witness, source }: Peer): Connection {
		const { environment, cwd, version, concurrency = 1, report } = this.#options;
		const launch = async (request: StartRequest): Promise<Session> => {
			checkStartRate(principal.countCreation());
			return this.#launch(request, witness);
		};
		const { limits } = this;
		const sessions = this.#sessions;
		const files = { runConfined: this.#confined(witness), checkUnconfined: () => this.#checkUnconfined() };
		const common = { sessions, launch, environment, files, cwd, version, concurrency, limits, report };
		return new Connection({ ...common, wire, source, principal, witness });
	}

	/** Starts a program and returns its session as seen by the caller. */
	async #launch(request: StartRequest, witness: AuditedCaller): Promise<Session> {
		const { sessions, prepare } = this.#options;
		return witness.session(await witness.create(sessions, prepare(request)));
	}

	#checkUnconfined(): void {
		checkUnconfined(this.#options.workspaces, defaultWorkspace, { what: "a file method", needs: "files" });
	}

	#confined(witness: AuditedCaller): RunConfined {
		const { sessions, environment, fileWorker: worker, report } = this.#options;
		const launch = (request: StartRequest) => this.#launch(request, witness);
		return createRunConfined({ sessions, launch, environment, worker, report });
	}

	/** Serves one client over stdio, then ends everything it started. */
	async serveStdio(stdio: Stdio): Promise<void> {
		const principal = { id: stdioBearer.id, countCreation: () => 0 };
		// Without an audit log: the only client is the process that started this server.
		const witness = new AuditedCaller(noAudit, { from: "stdio", front: "codex-exec" }, stdioBearer, () => null);
		const source = "JSON-RPC message from exec-server stdio";
		const { ended } = openStdio(stdio, this.limits.messageBytes, (wire) =>
			this.connect(wire, { principal, witness, source }),
		);
		if (!ended.aborted) await new Promise((resolve) => ended.addEventListener("abort", resolve, { once: true }));
		await this.close();
	}

	/** Ends all processes; resolves when they are gone. */
	async close(): Promise<void> {
		await this.#sessions.end();
	}
}
