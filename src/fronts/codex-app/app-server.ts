/** One app-server: what all its connections have in common, and how a wire becomes one of them. */

import type { Principal } from "../../core/access.ts";
import { noAudit } from "../../core/audit.ts";
import type { SandboxPolicy, SandboxSupport } from "../../core/sandbox.ts";
import type { Sessions } from "../../core/sessions.ts";
import { Witness } from "../../core/witness.ts";
import { checkCreation, type Prepare } from "../front.ts";
import { openStdio, type Stdio } from "../json-rpc/stdio.ts";
import type { Wire } from "../json-rpc/wire.ts";
import { Connection } from "./connection.ts";
import type { Host } from "./handshake.ts";
import { type AppLimits, defaultLimits } from "./limits.ts";
import type { Launch } from "./processes/command-methods.ts";

export type AppServerOptions = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** What the homes of these sessions can enforce. */
	readonly sandbox: SandboxSupport;
	/** What holds for a command whose client names none. */
	readonly policy: SandboxPolicy;
	/** The server's own environment, as far as commands may have it. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Whether commands are run here at all; a Codex server can be told not to. */
	readonly isExecutor?: boolean;
	readonly host: Host;
	readonly limits?: Partial<AppLimits>;
	/** Hears of our own faults. */
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

	/** `witness` is by whom everything is done that this connection asks for. */
	connect(wire: Wire, principal: Pick<Principal, "countCreation">, witness: Witness): Connection {
		const { isExecutor = true } = this.#options;
		const launch = this.#launcher(principal, witness);
		const connection = new Connection({ ...this.#options, wire, limits: this.limits, isExecutor, launch });
		this.#connections.add(connection);
		void connection.ended.then(() => this.#connections.delete(connection));
		return connection;
	}

	/** Serves one client until it ends its input or breaks off; resolves when everything it started is ended too. */
	async serveStdio(stdio: Stdio): Promise<void> {
		const principal = { countCreation: () => 0 };
		// Nothing is kept on disk by a server that has one client, which is the one who started it.
		const witness = new Witness(noAudit, { from: "stdio", front: "codex-app" }, null, () => null);
		openStdio(stdio, this.limits.messageBytes, (wire) => this.connect(wire, principal, witness));
		await this.ended();
	}

	/** Resolves when every connection is over, and nothing is left of any. */
	async ended(): Promise<void> {
		await Promise.all([...this.#connections].map((connection) => connection.ended));
	}

	#launcher(principal: Pick<Principal, "countCreation">, witness: Witness): Launch {
		const { sessions, prepare } = this.#options;
		return async (request) => {
			checkCreation(principal.countCreation());
			return witness.session(await witness.create(sessions, prepare(request)));
		};
	}
}
