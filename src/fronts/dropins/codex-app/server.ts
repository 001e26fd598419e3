/** One app-server: the shared parts of all connections, and the way from a wire to a connection. */

import type { Principal } from "../../../core/policy/access.ts";
import { noAudit } from "../../../core/policy/audit.ts";
import { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import { checkStartRate } from "../../../core/policy/start-rate.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import type { Prepare } from "../../../services/starts/request.ts";
import { openStdio, type Stdio, stdioBearer } from "../../json-rpc/stdio.ts";
import type { RpcWire } from "../../json-rpc/wire.ts";
import { Connection } from "./connection.ts";
import type { Host } from "./handshake.ts";
import { type AppLimits, defaultLimits } from "./limits.ts";
import type { CommandMethodsParts, Launch } from "./processes/command-methods.ts";

export type AppServerOptions = Pick<CommandMethodsParts, "sandbox" | "policy" | "environment" | "cwd"> & {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** Whether this server runs commands at all; a Codex server can disable that. */
	readonly isExecutor?: boolean;
	readonly host: Host;
	readonly limits?: Partial<AppLimits>;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export class AppServer {
	readonly limits: AppLimits;
	readonly #options: AppServerOptions;
	readonly #connections = new Set<Connection>();

	constructor(options: AppServerOptions) {
		this.#options = options;
		this.limits = { ...defaultLimits, ...options.limits };
	}

	/** `witness` performs and audits the connection's actions. */
	connect(wire: RpcWire, principal: Pick<Principal, "countCreation">, witness: AuditedCaller): Connection {
		const { isExecutor = true } = this.#options;
		const launch = this.#launcher(principal, witness);
		const connection = new Connection({ ...this.#options, wire, limits: this.limits, isExecutor, launch });
		this.#connections.add(connection);
		void connection.ended.then(() => this.#connections.delete(connection));
		return connection;
	}

	/** Serves one client over stdio. Resolves when the client has ended and all its programs have too. */
	async serveStdio(stdio: Stdio): Promise<void> {
		const principal = { countCreation: () => 0 };
		// Without an audit log: the only client is the process that started this server.
		const witness = new AuditedCaller(noAudit, { from: "stdio", front: "codex-app" }, stdioBearer, () => null);
		openStdio(stdio, this.limits.messageBytes, (wire) => this.connect(wire, principal, witness));
		await this.ended();
	}

	/** Resolves when all connections are over and their programs have ended. */
	async ended(): Promise<void> {
		await Promise.all([...this.#connections].map((connection) => connection.ended));
	}

	#launcher(principal: Pick<Principal, "countCreation">, witness: AuditedCaller): Launch {
		const { sessions, prepare } = this.#options;
		return async (request) => {
			checkStartRate(principal.countCreation());
			return witness.session(await witness.create(sessions, prepare(request)));
		};
	}
}
