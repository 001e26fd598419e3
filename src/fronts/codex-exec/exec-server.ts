/** One exec-server: the clients it has, and how a connection becomes one of them. */

import type { Principal } from "../../core/access.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
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
export type Peer = {
	readonly principal: Pick<Principal, "id" | "countCreation">;
	/** What its messages come from, for the answer to those that can't be read. */
	readonly source: string;
};

export class ExecServer {
	readonly limits: ExecLimits;
	readonly #options: ExecServerOptions;
	readonly #sessions: ExecSessions;
	readonly #runConfined: RunConfined;

	constructor(options: ExecServerOptions) {
		this.#options = options;
		this.limits = { ...defaultLimits, ...options.limits };
		const { sessions, prepare, environment, fileWorker: worker, newUuid, report } = options;
		this.#runConfined = createRunConfined({ sessions, prepare, environment, worker, report });
		this.#sessions = new ExecSessions({ sessions, newUuid, report, limits: this.limits });
	}

	connect(wire: Wire, { principal, source }: Peer): Connection {
		const { environment, cwd, version, concurrency = 1, report } = this.#options;
		const launch = async (request: StartRequest): Promise<Session> => {
			checkCreation(principal.countCreation());
			return this.#options.sessions.create(this.#options.prepare(request));
		};
		const { limits } = this;
		const sessions = this.#sessions;
		const runConfined = this.#runConfined;
		const common = { sessions, launch, environment, runConfined, cwd, version, concurrency, limits, report };
		return new Connection({ ...common, wire, source, principal });
	}

	/** Serves one client until it ends its input or breaks off; then everything it started is ended too. */
	async serveStdio(stdio: Stdio): Promise<void> {
		const principal = { id: "stdio", countCreation: () => 0 };
		const source = "JSON-RPC message from exec-server stdio";
		const { ended } = openStdio(stdio, this.limits.messageBytes, (wire) => this.connect(wire, { principal, source }));
		if (!ended.aborted) await new Promise((resolve) => ended.addEventListener("abort", resolve, { once: true }));
		await this.close();
	}

	/** Ends every process; resolves when none is left. */
	async close(): Promise<void> {
		await this.#sessions.end();
	}
}
