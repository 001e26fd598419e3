/** `/ws/session/:id`, as it was proposed upstream: the long-lived shell of a bash session, in JSON messages alone. */

import type { FastifyInstance, FastifyReply } from "fastify";
import type { Session } from "../../../core/session.ts";
import type { Witness } from "../../../core/witness.ts";
import { checkCreation, checkRight, type Hosting, may, witnessOf } from "../../front.ts";
import { createAcceptor, handshakeFault } from "../../upgrade.ts";
import { ExecdError } from "../answers.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { here } from "../options.ts";
import { Controls } from "../socket/controls.ts";
import { decodeText } from "../socket/frames.ts";
import {
	MAX_MESSAGE_BYTES,
	openWire,
	queryOf,
	refuseHandshake,
	type SocketRequest,
	sinceOf,
	TEXTS_PER_SECOND,
} from "../socket/handshake.ts";
import { Holder } from "../socket/holder.ts";
import { closeCodes, sayStartFailed, type Wire } from "../socket/wire.ts";
import { defaultTimes } from "../times.ts";
import type { BashSession, BashSessions } from "./bash-sessions.ts";
import { SessionOutput } from "./output.ts";
import { SessionShell } from "./shell.ts";

/** Who is connected to a bash session, and the shell that they find there. */
type Place = { readonly holder: Holder; shell: SessionShell | undefined };

export function addSessionSocket(
	app: FastifyInstance,
	options: OpenSandboxOptions,
	hosting: Hosting,
	sessions: BashSessions,
): void {
	const accept = createAcceptor({ maxPayload: MAX_MESSAGE_BYTES, textsPerSecond: TEXTS_PER_SECOND });
	const times = { ...defaultTimes, ...options.times };
	const scope = { hosting, accept, times: { ...times, writeMs: times.sessionWriteMs } };
	const places = new WeakMap<BashSession, Place>();
	const report = (problem: unknown) => hosting.report(problem, "session socket");

	async function connect(bash: BashSession, request: SocketRequest, reply: FastifyReply): Promise<FastifyReply> {
		const place = places.get(bash) ?? { holder: new Holder(), shell: undefined };
		places.set(bash, place);
		if (place.holder.isHeld) throw new ExecdError(409, "RUNTIME_ERROR", "session already connected");
		const fault = handshakeFault(request);
		if (fault) return refuseHandshake(reply, fault);
		const wire = openWire(request, reply, scope);
		// Nobody can take it over, so that there is nothing to do when somebody wants to.
		const seat = wire && place.holder.take(() => {});
		if (!wire || !seat) return reply;
		const since = queryOf(request, "since");
		try {
			await serve(bash, wire, {
				since: since === undefined ? undefined : sinceOf(since),
				shell: () => {
					if (place.shell && !place.shell.exit) return place.shell;
					checkCreation(request.principal?.countCreation() ?? 0);
					const mode = queryOf(request, "pty") === "1" ? "pty" : "pipe";
					place.shell = new SessionShell(bash, options, mode, witnessOf(request));
					return place.shell;
				},
				witness: witnessOf(request),
				report,
			});
		} finally {
			seat.leave();
		}
		return reply;
	}

	app.get("/ws/session/:id", { config: { policy: "read", isSocket: true } }, async (request: SocketRequest, reply) => {
		const { id } = request.params;
		const bash = may(request, "read", here) ? sessions.get(id) : undefined;
		if (!bash) throw new ExecdError(404, "CONTEXT_NOT_FOUND", `session ${id.slice(0, 64)} not found`);
		checkRight(request, "operate", here);
		return connect(bash, request, reply);
	});
}

type ServeOptions = {
	/** Undefined for a client that wants nothing of the past. */
	readonly since: number | undefined;
	/** The shell that runs, or a new one. */
	readonly shell: () => SessionShell;
	/** By whom all this is done. */
	readonly witness: Witness;
	readonly report: (problem: unknown) => void;
};

/** Resolves when the connection is over and nothing of it reads or writes any more. Never rejects. */
async function serve(bash: BashSession, wire: Wire, options: ServeOptions): Promise<void> {
	const { since, shell: find, witness, report } = options;
	const controls = new Controls(wire, (data) => decodeText(data.toString()));
	// Live begins where the past ends: with all that a shell says that is started for this client.
	const total = bash.log.end.offset;
	let shell: SessionShell;
	let session: Session;
	try {
		shell = find();
		session = await shell.started;
	} catch (error) {
		await sayStartFailed(wire, error, report);
		return;
	}
	const place = { workspace: session.spec.workspace, session: session.id };
	witness.record({ action: "attach" }, place);
	try {
		const output = new SessionOutput(bash, { wire, shell, total });
		await controls.open(witness.session(session), `opensandbox:${bash.id}`, async () => {
			if (since !== undefined) await output.replay(since);
			await wire.say({ type: "connected", session_id: bash.id, mode: session.spec.mode });
		});
		await output.run();
	} catch (error) {
		report(error);
	} finally {
		shell.taken(undefined);
		witness.record({ action: "detach" }, place);
	}
	wire.close(closeCodes.failed, "internal error");
	await controls.finish();
}
