/**
 * The connection of one client, from its handshake to its end, over any wire.
 *
 *   client                          server
 *     ├── initialize {resume?} ────►│  a new session, or one that waits for its client
 *     │◄──────── sessionId ─────────┤
 *     ├── initialized ─────────────►│  from here on everything else may be asked
 *     ├── process/start … ─────────►│
 *     │◄──── process/output … ──────┤  while this connection is attached to the session
 *
 * The client's processes belong to the session, which survives the connection. Open files do not.
 */

import type { Principal } from "../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import type { Session } from "../../../core/session/session.ts";
import { defaultWorkspace } from "../../../core/session/workspaces.ts";
import type { StartRequest } from "../../../services/starts/request.ts";
import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";
import { decodeMessage, failure, type Message, malformedAnswer, result } from "../../json-rpc/messages.ts";
import * as rpc from "../../json-rpc/params.ts";
import type { Receiver, RpcWire } from "../../json-rpc/wire.ts";
import type { Attachment, ClientSession } from "./client-session.ts";
import type { ExecSessions } from "./client-sessions.ts";
import { createEnvironmentMethods, environmentInfo } from "./environment-info.ts";
import { toRpcError } from "./errors.ts";
import { FileHandles } from "./files/handles.ts";
import { createFileMethods, type FileConfinement, fileFamily } from "./files/methods.ts";
import type { ExecLimits } from "./limits.ts";
import type { Methods } from "./methods.ts";
import { createProcessMethods } from "./processes/methods.ts";
import { createEventSink } from "./processes/notifications.ts";
import type { ProcessEventSink } from "./processes/process.ts";
import { Inbox } from "./request-queue.ts";

type ConnectionOptions = {
	readonly wire: RpcWire;
	/** Name of the connection in the answer to an invalid message. */
	readonly source: string;
	readonly sessions: ExecSessions;
	readonly principal: Pick<Principal, "id">;
	/** Records file requests in the audit log. */
	readonly witness: Pick<AuditedCaller, "record">;
	readonly launch: (request: StartRequest) => Promise<Session>;
	readonly environment: () => Readonly<Record<string, string>>;
	readonly files: FileConfinement;
	readonly cwd: string;
	/** Version of this server. */
	readonly version: string;
	readonly concurrency: number;
	readonly limits: ExecLimits;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

/** Methods that run even while others wait (contract §8). */
const controls: ReadonlySet<string> = new Set([
	"environment/info",
	"environment/status",
	"process/signal",
	"process/terminate",
	"fs/close",
]);

type Request = Extract<Message, { kind: "request" }>;

const initialize = rpc.object({ clientName: rpc.string, resumeSessionId: rpc.optional(rpc.string, null) });

export class Connection implements Attachment, Receiver {
	readonly sink: ProcessEventSink;
	readonly #options: ConnectionOptions;
	readonly #wire: RpcWire;
	readonly #inbox: Inbox;
	readonly #methods: Methods;
	readonly #files = new FileHandles();
	#session: ClientSession | undefined;
	#isReady = false;
	#malformed = 0;

	constructor(options: ConnectionOptions) {
		const { wire, limits, concurrency } = options;
		this.#options = options;
		this.#wire = wire;
		this.sink = createEventSink(wire, limits);
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

	/** Handles one message. */
	receive(bytes: Uint8Array): void {
		// The bytes that ended the connection may be followed by more messages.
		if (this.#wire.ended.aborted) return;
		const message = decodeMessage(bytes);
		if (message.kind === "malformed" && ++this.#malformed > this.#options.limits.malformedMessages) this.#wire.close();
		else this.#inbox.add(message, bytes.byteLength);
	}

	probe(): void {
		this.#wire.probe();
	}

	#createMethods(): Methods {
		const { launch, environment, cwd, version, limits, files } = this.#options;
		const processes = () => this.#attached("exec").processes;
		return new Map([
			...createProcessMethods({ processes, launch, environment, retainedBytes: limits.retainedBytes }),
			...createEnvironmentMethods({ env: environment(), cwd, version }),
			...createFileMethods(this.#files, files),
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

	/** Resolves when more answers may be sent or the connection is over. A client that does not read gets no more. */
	async #room(): Promise<void> {
		while (this.#wire.bufferedBytes > this.#options.limits.bufferedAnswerBytes && !this.#wire.ended.aborted)
			await this.#wire.taken.wait(this.#wire.ended);
	}

	/** Checks in this order: method, parameters, handshake, operation. The first failure is the answer. */
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
		// No await from here to the answer: an attached process may send notifications at any time.
		if (this.#session) throw refused("initialize may only be sent once per connection");
		const session =
			resumeSessionId === null ? sessions.create(principal.id) : sessions.find(resumeSessionId, principal.id);
		session.attach(this);
		this.#session = session;
		return { sessionId: session.id, environmentInfo: info };
	}

	/** The session, once the handshake is over and while it is attached to this connection. */
	#attached(family: string): ClientSession {
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
