/** `/ws/session/:id`, as proposed upstream: the long-lived shell of a bash session, over JSON messages only. */

import type { FastifyInstance, FastifyReply } from "fastify";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import { checkStartRate } from "../../../../core/policy/start-rate.ts";
import type { Session } from "../../../../core/session/session.ts";
import { auditedCallerOf, checkRight, hasRight } from "../../../../http/caller.ts";
import type { ServerContext } from "../../../../http/front.ts";
import { createAcceptor, handshakeFault } from "../../../../http/upgrade.ts";
import { ExecdError } from "../errors.ts";
import { defaultTimes } from "../limits.ts";
import { decodeText } from "../messages.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
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
import { SocketInput } from "../socket/input.ts";
import { closeCodes, sendStartFailed, type Wire } from "../wire.ts";
import type { BashSession, BashSessions } from "./bash-sessions.ts";
import { SessionShell } from "./long-lived-shell.ts";
import { SessionOutput } from "./output.ts";

/** The connection and the shell of a bash session. */
type Place = { readonly holder: Holder; shell: SessionShell | undefined };

export function addSessionSocket(
	app: FastifyInstance,
	options: OpenSandboxOptions,
	hosting: ServerContext,
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
		if (!place.shell || place.shell.exit) checkRight(request, "manage", defaultPlacement);
		if (place.holder.isHeld) throw new ExecdError(409, "RUNTIME_ERROR", "session already connected");
		const fault = handshakeFault(request);
		if (fault) return refuseHandshake(reply, fault);
		const wire = openWire(request, reply, scope);
		// There is no takeover here, so eviction does nothing.
		const seat = wire && place.holder.take(() => {});
		if (!wire || !seat) return reply;
		const since = queryOf(request, "since");
		try {
			await serve(bash, wire, {
				since: since === undefined ? undefined : sinceOf(since),
				shell: () => {
					if (place.shell && !place.shell.exit) return place.shell;
					checkStartRate(request.principal?.countCreation() ?? 0);
					const mode = queryOf(request, "pty") === "1" ? "pty" : "pipe";
					place.shell = new SessionShell(bash, options, mode, auditedCallerOf(request));
					return place.shell;
				},
				witness: auditedCallerOf(request),
				report,
			});
		} finally {
			seat.leave();
		}
		return reply;
	}

	app.get("/ws/session/:id", { config: { policy: "read", isSocket: true } }, async (request: SocketRequest, reply) => {
		const { id } = request.params;
		const bash = hasRight(request, "read", defaultPlacement) ? sessions.get(id) : undefined;
		if (!bash) throw new ExecdError(404, "CONTEXT_NOT_FOUND", `session ${id.slice(0, 64)} not found`);
		checkRight(request, "operate", defaultPlacement);
		return connect(bash, request, reply);
	});
}

type ServeOptions = {
	/** Undefined for a client without a replay. */
	readonly since: number | undefined;
	/** Returns the running shell, or starts one. */
	readonly shell: () => SessionShell;
	/** Performs and audits the connection's actions. */
	readonly witness: AuditedCaller;
	readonly report: (problem: unknown) => void;
};

/** Resolves when the connection is over and nothing reads or writes for it. Never rejects. */
async function serve(bash: BashSession, wire: Wire, options: ServeOptions): Promise<void> {
	const { since, shell: find, witness, report } = options;
	const controls = new SocketInput(wire, (data) => decodeText(data.toString()));
	// The live part starts here, so that it has all output of a shell started for this client.
	const total = bash.log.end.offset;
	let shell: SessionShell;
	let session: Session;
	try {
		shell = find();
		session = await shell.started;
	} catch (error) {
		await sendStartFailed(wire, error, report);
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
