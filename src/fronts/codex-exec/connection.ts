/**
 * One connection of a client, from its handshake to its end, whatever carries it.
 *
 *   client                          server
 *     ├── initialize {resume?} ────►│  a new session, or one that waits for its client
 *     │◄──────── sessionId ─────────┤
 *     ├── initialized ─────────────►│  from here on everything else may be asked
 *     ├── process/start … ─────────►│
 *     │◄──── process/output … ──────┤  while this connection is attached to the session
 *
 * What must survive it is in the session; what is here ends with it.
 */

import type { Principal } from "../../core/access.ts";
import type { Session } from "../../core/session.ts";
import type { Witness } from "../../core/witness.ts";
import { defaultWorkspace } from "../../core/workspaces.ts";
import type { StartRequest } from "../front.ts";
import { decodeMessage, failure, type Message, malformedAnswer, result } from "../json-rpc/envelope.ts";
import { RpcError, rpcCodes } from "../json-rpc/error.ts";
import { Inbox } from "../json-rpc/inbox.ts";
import type { Methods } from "../json-rpc/methods.ts";
import { object, optional, string } from "../json-rpc/params.ts";
import type { Receiver, Wire } from "../json-rpc/wire.ts";
import { createEnvironmentMethods, environmentInfo } from "./environment-info.ts";
import { toRpcError } from "./errors.ts";
import type { RunConfined } from "./files/confined.ts";
import { FileHandles } from "./files/handles.ts";
import { createFileMethods, fileFamily } from "./files/methods.ts";
import type { ExecLimits } from "./limits.ts";
import { createProcessMethods } from "./processes/methods.ts";
import { createWatcher } from "./processes/notifications.ts";
import type { Watcher } from "./processes/process.ts";
import type { Attachment, ExecSession } from "./session.ts";
import type { ExecSessions } from "./sessions.ts";

export type ConnectionOptions = {
	readonly wire: Wire;
	/** What messages come from, as it is said of those that can't be read. */
	readonly source: string;
	readonly sessions: ExecSessions;
	readonly principal: Pick<Principal, "id">;
	/** Hears of the files that are asked for. */
	readonly witness: Pick<Witness, "record">;
	readonly launch: (request: StartRequest) => Promise<Session>;
	readonly environment: () => Readonly<Record<string, string>>;
	readonly runConfined: RunConfined;
	readonly cwd: string;
	/** Of this server. */
	readonly version: string;
	readonly concurrency: number;
	readonly limits: ExecLimits;
	/** Hears of our own faults. */
	readonly report: (problem: unknown) => void;
};

/** The methods that must be heard while others wait (contract §8). */
const controls: ReadonlySet<string> = new Set([
	"environment/info",
	"environment/status",
	"process/signal",
	"process/terminate",
	"fs/close",
]);

type Request = Extract<Message, { kind: "request" }>;

const initialize = object({ clientName: string, resumeSessionId: optional(string, null) });

export class Connection implements Attachment, Receiver {
	readonly watcher: Watcher;
	readonly #options: ConnectionOptions;
	readonly #wire: Wire;
	readonly #inbox: Inbox;
	readonly #methods: Methods;
	readonly #files = new FileHandles();
	#session: ExecSession | undefined;
	#isReady = false;
	#malformed = 0;

	constructor(options: ConnectionOptions) {
		const { wire, limits, concurrency } = options;
		this.#options = options;
		this.#wire = wire;
		this.watcher = createWatcher(wire, limits);
		this.#methods = this.#createMethods();
		this.#inbox = new Inbox({
			wire,
			limits,
			concurrency,
			isReady: () => this.#isReady,
			controls,
			handle: (message) => this.#handle(message),
		});
		wire.ended.addEventListener("abort", () => this.#end(), { once: true });
	}

	/** One message, as it came. */
	receive(bytes: Uint8Array): void {
		// Much more may have come in the same piece as what ended the connection.
		if (this.#wire.ended.aborted) return;
		const message = decodeMessage(bytes);
		if (message.kind === "malformed" && ++this.#malformed > this.#options.limits.malformedMessages) this.#wire.close();
		else this.#inbox.add(message, bytes.byteLength);
	}

	probe(): void {
		this.#wire.probe();
	}

	#createMethods(): Methods {
		const { launch, environment, cwd, version, limits, runConfined } = this.#options;
		const processes = () => this.#attached("exec").processes;
		return new Map([
			...createProcessMethods({ processes, launch, environment, retainedBytes: limits.retainedBytes }),
			...createEnvironmentMethods({ env: environment(), cwd, version }),
			...createFileMethods(this.#files, runConfined),
		]);
	}

	async #handle(message: Message): Promise<void> {
		switch (message.kind) {
			case "request":
				return this.#answer(message);
			case "malformed":
				await this.#room();
				this.#wire.send(malformedAnswer(this.#options.source, message.fault));
				return;
			case "notification":
				if (message.method !== "initialized" || !this.#session) this.#wire.close();
				else this.#isReady = true;
				return;
			case "answer":
				this.#wire.close();
		}
	}

	async #answer(request: Request): Promise<void> {
		await this.#room();
		const text = await this.#perform(request).then(
			(value) => this.#fitting(request.id, result(request.id, value)),
			(thrown: unknown) => this.#refusal(request.id, thrown),
		);
		this.#wire.send(text);
	}

	/** Resolves when more answers may be sent, or the connection is over: who does not read them gets no more. */
	async #room(): Promise<void> {
		while (this.#wire.bufferedBytes > this.#options.limits.bufferedAnswerBytes && !this.#wire.ended.aborted)
			await this.#wire.taken.next(this.#wire.ended);
	}

	/** Unknown method, parameters, handshake, operation: whatever is wrong first in this order is the answer. */
	async #perform({ method: name, params }: Request): Promise<unknown> {
		if (name === "initialize") return this.#initialize(params);
		const method = this.#methods.get(name);
		if (!method) {
			throw new RpcError(rpcCodes.methodNotFound, `exec-server stub does not implement \`${name}\` yet`);
		}
		const operation = method.prepare(params);
		this.#attached(method.family);
		if (method.family === fileFamily) {
			this.#options.witness.record({ action: "files", method: name }, { workspace: defaultWorkspace });
		}
		return operation(this.#wire.ended);
	}

	async #initialize(params: unknown): Promise<unknown> {
		const { resumeSessionId } = initialize(params);
		const { sessions, principal, environment, cwd, version } = this.#options;
		const info = await environmentInfo({ env: environment(), cwd, version });
		// Nothing is waited for from here to the answer: once attached, the processes have something to tell.
		if (this.#session) throw refused("initialize may only be sent once per connection");
		const session =
			resumeSessionId === null ? sessions.create(principal.id) : sessions.find(resumeSessionId, principal.id);
		session.attach(this);
		this.#session = session;
		return { sessionId: session.id, environmentInfo: info };
	}

	/** The session, if the handshake is over and it is still ours. */
	#attached(family: string): ExecSession {
		if (!this.#session) throw refused(`client must call initialize before using ${family} methods`);
		if (!this.#isReady) throw refused(`client must send initialized before using ${family} methods`);
		if (!this.#session.isAttachedTo(this)) throw refused("session has been resumed by another connection");
		return this.#session;
	}

	#fitting(id: string, text: string): string {
		const { answerBytes } = this.#options.limits;
		if (text.length <= answerBytes) return text;
		return failure(id, new RpcError(rpcCodes.internal, `the answer is larger than ${answerBytes} bytes`));
	}

	#refusal(id: string, thrown: unknown): string {
		const error = toRpcError(thrown);
		const isOurs = !(thrown instanceof RpcError) && error.cause !== undefined;
		if (isOurs) this.#options.report(error.cause);
		return failure(id, error);
	}

	#end(): void {
		this.#session?.detach(this);
		void this.#files.closeAll();
	}
}

function refused(message: string): RpcError {
	return new RpcError(rpcCodes.invalidRequest, message);
}
