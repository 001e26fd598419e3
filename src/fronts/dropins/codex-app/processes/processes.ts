/** The programs of one connection, with or without a client-chosen name. They end with the connection. */

import { SessionError } from "../../../../core/errors.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { Sessions } from "../../../../core/session/session-registry.ts";
import { SessionScope } from "../../../../services/starts/session-scope.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import { Notifications } from "../../../json-rpc/notifications.ts";
import { spawnText } from "../../../json-rpc/system-errors.ts";
import type { RpcWire } from "../../../json-rpc/wire.ts";
import { invalidRequest } from "../errors.ts";
import type { AppLimits } from "../limits.ts";
import type { FamilyText } from "./error-text.ts";
import { Collected, DeltaSink, deltaMessage, discarded, type Sink } from "./output.ts";
import { AppProcess, type Ending } from "./process.ts";

type ProcessesOptions = {
	readonly wire: RpcWire;
	readonly sessions: Sessions;
	readonly limits: AppLimits;
	readonly report: (problem: unknown) => void;
	/** Whether the client wants this notification. */
	readonly isWanted: (notification: string) => boolean;
};

type Run = {
	/** The client's name for the program; null if it gave none. */
	readonly id: string | null;
	readonly isWritable: boolean;
	readonly isStreamed: boolean;
	readonly cap: number | null;
	readonly isOverdue: boolean;
	/** No output is sent before this resolves. */
	readonly startAnswered?: Promise<void>;
	readonly launch: () => Promise<Session>;
};

export class Processes {
	readonly #options: ProcessesOptions;
	readonly #scope: SessionScope;
	readonly #notifications: Notifications<DeltaSink>;
	/** Each method family has its own namespace. */
	readonly #named = new Map<FamilyText, Map<string, AppProcess>>();

	constructor(options: ProcessesOptions) {
		const { wire, limits, report } = options;
		this.#options = options;
		// Codex's server ends the process group. Here, processes that left the group are ended too.
		this.#scope = new SessionScope({ sessions: options.sessions, endsLeavings: true, report });
		this.#notifications = new Notifications(wire, { bufferedBytes: limits.bufferedBytes, take: (sink) => sink.take() });
	}

	/**
	 * Resolves when the program runs, with a promise of its end. The name is free again before that promise resolves.
	 * Calls with the same name must not overlap.
	 */
	async start(run: Run, wording: FamilyText): Promise<{ readonly ended: Promise<Ending> }> {
		const { limits, report, wire } = this.#options;
		const { id, launch } = run;
		const names = this.#namesFor(wording);
		if (id !== null && names.has(id)) throw invalidRequest(wording.duplicate(id));
		let session: Session;
		try {
			session = await this.#scope.start(launch);
		} catch (thrown) {
			throw toSpawnError(thrown, wording);
		}
		const sink = this.#sink(run, wording);
		const cap = run.isStreamed ? run.cap : Math.min(run.cap ?? Number.POSITIVE_INFINITY, limits.collectedBytes);
		const common = { session, wording, sink, limits, signal: wire.ended, report };
		const process = new AppProcess({ ...run, ...common, id: id ?? "", cap });
		if (id !== null) names.set(id, process);
		const ended = process.ended.finally(() => {
			if (id !== null) names.delete(id);
			void this.#scope.remove(session);
		});
		return { ended };
	}

	get(id: string, wording: FamilyText): AppProcess {
		const process = this.#namesFor(wording).get(id);
		if (process) return process;
		throw invalidRequest(wording.unknown(id));
	}

	/** Ends all programs at once; resolves when they and their children are gone. */
	async end(): Promise<void> {
		await this.#scope.end();
	}

	#namesFor(wording: FamilyText): Map<string, AppProcess> {
		const names = this.#named.get(wording) ?? new Map<string, AppProcess>();
		this.#named.set(wording, names);
		return names;
	}

	#sink({ id, isStreamed, startAnswered }: Run, wording: FamilyText): Sink {
		const { wire, limits, isWanted } = this.#options;
		if (!isStreamed || id === null) return new Collected();
		if (!isWanted(wording.delta)) return discarded;
		return new DeltaSink({
			limits,
			message: deltaMessage(wording, id),
			happened: (sink) => this.#notifications.happened(sink),
			giveUp: () => wire.close(),
			startAnswered,
			signal: wire.ended,
		});
	}
}

function toSpawnError(thrown: unknown, { notSpawned }: FamilyText): unknown {
	if (!(thrown instanceof SessionError) || thrown.code === "internal") return thrown;
	const text = thrown.code === "spawn_failed" ? spawnText(thrown.cause) : undefined;
	return new RpcError(rpcCodes.internal, `${notSpawned}: ${text ?? thrown.message}`);
}
