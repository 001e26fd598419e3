/** One exec-server: the clients it has, and how a connection becomes one of them. */

import type { Principal } from "../../core/access.ts";
import { noAudit } from "../../core/audit.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { Witness } from "../../core/witness.ts";
import { checkCreation, type Prepare, type StartRequest } from "../front.ts";
import { openStdio, type Stdio } from "../json-rpc/stdio.ts";
import type { Wire } from "../json-rpc/wire.ts";
import { Connection } from "./connection.ts";
import { createRunConfined, type RunConfined } from "./files/confined.ts";
import { defaultLimits, type ExecLimits } from "./limits.ts";
import { ExecSessions } from "./sessions.ts";

export type ExecServerOptions = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** The server's own environment, as far as clients may have it. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	/** Of this server, for clients that ask. */
	readonly version: string;
	/** What carries out file requests in sandboxes, where it is not beside us. */
	readonly fileWorker?: string;
	readonly newUuid: () => string;
	/** How many requests of one connection may be under way at once; one after the other, if left out. */
	readonly concurrency?: number;
	readonly limits?: Partial<ExecLimits>;
	/** Hears of our own faults. */
	readonly report: (problem: unknown) => void;
};

/** Who is at the other end of a connection. */
type Peer = {
	readonly principal: Pick<Principal, "id" | "countCreation">;
	/** By whom everything is done that this connection asks for. */
	readonly witness: Witness;
	/** What its messages come from, for the answer to those that can't be read. */
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

	connect(wire: Wire, { principal, witness, source }: Peer): Connection {
		const { environment, cwd, version, concurrency = 1, report } = this.#options;
		const launch = async (request: StartRequest): Promise<Session> => {
			checkCreation(principal.countCreation());
			return this.#launch(request, witness);
		};
		const { limits } = this;
		const sessions = this.#sessions;
		const runConfined = this.#confined(witness);
		const common = { sessions, launch, environment, runConfined, cwd, version, concurrency, limits, report };
		return new Connection({ ...common, wire, source, principal, witness });
	}

	/** The session of a program as whoever asked for it has it. */
	async #launch(request: StartRequest, witness: Witness): Promise<Session> {
		const { sessions, prepare } = this.#options;
		return witness.session(await witness.create(sessions, prepare(request)));
	}

	#confined(witness: Witness): RunConfined {
		const { sessions, environment, fileWorker: worker, report } = this.#options;
		const launch = (request: StartRequest) => this.#launch(request, witness);
		return createRunConfined({ sessions, launch, environment, worker, report });
	}

	/** Serves one client until it ends its input or breaks off; then everything it started is ended too. */
	async serveStdio(stdio: Stdio): Promise<void> {
		const principal = { id: "stdio", countCreation: () => 0 };
		// Nothing is kept on disk by a server that has one client, which is the one who started it.
		const witness = new Witness(noAudit, { from: "stdio", front: "codex-exec" }, null, () => null);
		const source = "JSON-RPC message from exec-server stdio";
		const { ended } = openStdio(stdio, this.limits.messageBytes, (wire) =>
			this.connect(wire, { principal, witness, source }),
		);
		if (!ended.aborted) await new Promise((resolve) => ended.addEventListener("abort", resolve, { once: true }));
		await this.close();
	}

	/** Ends every process; resolves when none is left. */
	async close(): Promise<void> {
		await this.#sessions.end();
	}
}
