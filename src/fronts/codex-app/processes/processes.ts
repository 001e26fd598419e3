/** The programs of one connection by the names it gave them, and those without a name; they end with it. */

import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import type { Sessions } from "../../../core/sessions.ts";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { Notifications } from "../../json-rpc/notifications.ts";
import { spawnText } from "../../json-rpc/system-error.ts";
import type { Wire } from "../../json-rpc/wire.ts";
import { SessionScope } from "../../session-scope.ts";
import { refused } from "../errors.ts";
import type { AppLimits } from "../limits.ts";
import { Collected, deltaMessage, discarded, type Sink, Told } from "./output.ts";
import { AppProcess, type Ending } from "./process.ts";
import type { Wording } from "./wording.ts";

export type ProcessesOptions = {
	readonly wire: Wire;
	readonly sessions: Sessions;
	readonly limits: AppLimits;
	readonly report: (problem: unknown) => void;
	/** Whether the client wants to hear of this. */
	readonly isWanted: (notification: string) => boolean;
};

export type Run = {
	/** As the client calls it; none, if it does not. */
	readonly id: string | null;
	readonly isWritable: boolean;
	readonly isStreamed: boolean;
	readonly cap: number | null;
	readonly isOverdue: boolean;
	/** Its output is not told before this. */
	readonly heard?: Promise<void>;
	readonly launch: () => Promise<Session>;
};

export class Processes {
	readonly #options: ProcessesOptions;
	readonly #scope: SessionScope;
	readonly #told: Notifications<Told>;
	/** One space of names for each wording. */
	readonly #named = new Map<Wording, Map<string, AppProcess>>();

	constructor(options: ProcessesOptions) {
		const { wire, limits, report } = options;
		this.#options = options;
		// The real server ends the program's group with it; here also what left the group.
		this.#scope = new SessionScope({ sessions: options.sessions, endsLeavings: true, report });
		this.#told = new Notifications(wire, { bufferedBytes: limits.bufferedBytes, take: (told) => told.take() });
	}

	/**
	 * Resolves when the program runs, with a promise for its end; the name is free again before that resolves. Not
	 * called again under the same name before it has resolved.
	 */
	async start(run: Run, wording: Wording): Promise<{ readonly ended: Promise<Ending> }> {
		const { limits, report, wire } = this.#options;
		const { id, launch } = run;
		const names = this.#namesFor(wording);
		if (id !== null && names.has(id)) throw refused(wording.duplicate(id));
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

	get(id: string, wording: Wording): AppProcess {
		const process = this.#namesFor(wording).get(id);
		if (process) return process;
		throw refused(wording.unknown(id));
	}

	/** Ends every program at once, none after another; resolves when nothing of any of them is left. */
	async end(): Promise<void> {
		await this.#scope.end();
	}

	#namesFor(wording: Wording): Map<string, AppProcess> {
		const names = this.#named.get(wording) ?? new Map<string, AppProcess>();
		this.#named.set(wording, names);
		return names;
	}

	#sink({ id, isStreamed, heard }: Run, wording: Wording): Sink {
		const { wire, limits, isWanted } = this.#options;
		if (!isStreamed || id === null) return new Collected();
		if (!isWanted(wording.delta)) return discarded;
		return new Told({
			limits,
			message: deltaMessage(wording, id),
			happened: (told) => this.#told.happened(told),
			giveUp: () => wire.close(),
			heard,
			signal: wire.ended,
		});
	}
}

function toSpawnError(thrown: unknown, { notSpawned }: Wording): unknown {
	if (!(thrown instanceof SessionError) || thrown.code === "internal") return thrown;
	const text = thrown.code === "spawn_failed" ? spawnText(thrown.cause) : undefined;
	return new RpcError(rpcCodes.internal, `${notSpawned}: ${text ?? thrown.message}`);
}
