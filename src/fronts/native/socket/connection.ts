/**
 * One client on a WebSocket `hawser.v1`, from its `hello` to the close.
 *
 *   client                       server
 *     ├── hello {since, role} ──►│  where it stands, what it may do
 *     │◄──────── welcome ────────┤
 *     │◄── output, events ───────┤  a cursor, no faster than `consumed` comes back
 *     ├── consumed ─────────────►│
 *     ├── input, acts ──────────►│  one queue, in order
 *     │◄── receipts, errors ─────┤
 *
 * Nothing here is needed by the client's next connection: where it stands is in the session and in its `hello`.
 */

import { createHash, randomUUID } from "node:crypto";
import type { Principal } from "../../../core/access.ts";
import type { Approvals } from "../../../core/approvals.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Size } from "../../../core/event.ts";
import { INPUT_WINDOW_BYTES } from "../../../core/input.ts";
import type { Screens, Snapshot } from "../../../core/screen.ts";
import type { Session } from "../../../core/session.ts";
import type { Sessions } from "../../../core/sessions.ts";
import { parseSignal } from "../../../core/signals.ts";
import { within } from "../../../core/within.ts";
import type { Witness } from "../../../core/witness.ts";
import { decodeClientFrame, encodeServerFrame, FrameError } from "../../../protocol/frames.ts";
import { type ClientMessage, closeCodes, type Hello } from "../../../protocol/socket.ts";
import { flowFor, type Hosting, lacksRight } from "../../front.ts";
import type { Traffic } from "../metrics.ts";
import type { Sends } from "../sending.ts";
import { sessionMessage } from "../sessions.ts";
import { tellActivity, tellApprovals } from "./activity.ts";
import type { Answerer } from "./answerers.ts";
import type { Attached } from "./attachments.ts";
import { SocketControl } from "./control.ts";
import { SocketInput } from "./input.ts";
import type { SocketLimits } from "./limits.ts";
import { MessageError, parseClientMessage } from "./messages.ts";
import { SocketOutput } from "./output.ts";
import { SocketSends } from "./sends.ts";
import type { Sizer } from "./sizes.ts";
import type { Wire } from "./wire.ts";

export type ConnectionOptions = {
	readonly session: Session;
	readonly sessions: Sessions;
	/** What terminals show. */
	readonly screens: Screens | undefined;
	readonly principal: Principal;
	readonly witness: Witness;
	/** What is held until somebody approves it. */
	readonly approvals: Approvals | undefined;
	readonly wire: Wire;
	/** All who are attached to the session. */
	readonly attached: Attached;
	readonly limits: SocketLimits;
	readonly traffic: Traffic;
	readonly hosting: Pick<Hosting, "readers" | "answers">;
	readonly sends: Sends;
	/** Hears of everything that is done to the session, before it is. */
	readonly acts: (how: { readonly isTyped: boolean }) => void;
	/** Hears of our own faults. */
	readonly report: (problem: unknown) => void;
};

type Parts = {
	readonly output: SocketOutput;
	readonly input: SocketInput;
	readonly control: SocketControl;
	readonly sends: SocketSends;
};
type Received = { readonly data: Buffer; readonly isBinary: boolean };

export class Connection {
	readonly #options: ConnectionOptions;
	#isGreeted = false;
	#parts: Parts | undefined;
	/** Of a writer that has told its size. */
	#sizer: Sizer | undefined;
	/** What came between `hello` and `welcome`, from a client that does not wait for it. */
	#early: Received[] = [];
	#earlyBytes = 0;

	constructor(options: ConnectionOptions) {
		this.#options = options;
		const { wire, limits } = options;
		const timer = setTimeout(() => {
			if (!this.#isGreeted) wire.close(closeCodes.helloTimeout, `no hello within ${limits.helloMs} ms`);
		}, limits.helloMs);
		wire.ended.addEventListener("abort", () => clearTimeout(timer), { once: true });
	}

	receive(data: Buffer, isBinary: boolean): void {
		const { wire, limits } = this.#options;
		if (wire.ended.aborted) return;
		if (data.byteLength > (isBinary ? limits.binaryBytes : limits.textBytes)) {
			wire.close(closeCodes.tooBig, `a message of ${data.byteLength} bytes is too large`);
			return;
		}
		try {
			if (!this.#isGreeted) this.#greet(data, isBinary);
			else if (this.#parts) this.#handle({ data, isBinary }, this.#parts);
			else this.#keep({ data, isBinary });
		} catch (error) {
			if (error instanceof FrameError || error instanceof MessageError) {
				wire.close(closeCodes.protocolError, error.message);
			} else {
				this.#fail(error);
			}
		}
	}

	#greet(data: Buffer, isBinary: boolean): void {
		const hello = isBinary ? undefined : parseClientMessage(data.toString());
		if (hello?.type !== "hello") throw new MessageError("the first message must be hello");
		this.#isGreeted = true;
		this.#open(hello).catch((error: unknown) => this.#fail(error));
	}

	#keep(received: Received): void {
		this.#early.push(received);
		this.#earlyBytes += received.data.byteLength;
		const { limits } = this.#options;
		if (this.#early.length > limits.waitingActs || this.#earlyBytes > limits.waitingBytes) {
			throw new MessageError("wait for welcome before sending so much");
		}
	}

	async #open(hello: Hello): Promise<void> {
		const { session, principal, wire, limits, traffic, acts } = this.#options;
		const stream = hello.stream ?? randomUUID();
		const screen = await this.#screen(hello);
		const [info, receipt] = await Promise.all([session.info(), session.receipt(stream)]);
		if (wire.ended.aborted) return;
		const { oldest, end } = info.offsets;
		// Resolved to a number here, so that `welcome` can't disagree with what follows.
		const from = screen?.offset ?? (hello.since === "end" ? end : Math.min(hello.since, end));
		const start = screen ? { seq: screen.seq } : { offset: from };
		const items = session.follow(start, { ...flowFor(principal, session, hello.flow), signal: wire.ended });
		const control = new SocketControl(session, { wire, holder: this.#holder(stream), lease: info.lease });
		const fail = (error: unknown) => this.#fail(error);
		const refusal = this.#refusal(hello);
		const output = new SocketOutput({ wire, limits, traffic, from });
		const input = new SocketInput(session, { wire, limits, traffic, control, stream, receipt, refusal, acts, fail });
		wire.say({
			type: "welcome",
			session: sessionMessage(info),
			output: { from: Math.max(from, oldest), oldest, end: Math.max(from, end) },
			input: { next: receipt.next, written: receipt.written, window: INPUT_WINDOW_BYTES },
			lease: control.message,
			...(screen ? { screen: { cols: screen.cols, rows: screen.rows, bytes: screen.bytes.byteLength } } : {}),
		});
		if (screen) sendScreen(wire, screen, limits.frameBytes);
		const sends = new SocketSends(session, { ...this.#options, input, control, fail });
		this.#parts = { output, input, control, sends };
		if (!refusal) inBackground(input.watch());
		if (hello.stream === undefined) {
			// Nobody can come back to a stream without a name.
			wire.ended.addEventListener("abort", () => inBackground(session.forgetStream(stream)), { once: true });
		}
		inBackground(control.watch());
		if (hello.activity) this.#tellActivity();
		for (const received of this.#early.splice(0)) this.receive(received.data, received.isBinary);
		if (hello.size && !refusal) this.#takeSize(hello.size, control);
		if (hello.replies && !refusal && session.state.status === "running") await this.#answer(output, control);
		await output.run(items);
		wire.close(closeCodes.done, "the session has ended");
	}

	#tellActivity(): void {
		const { session, wire, approvals, principal, report } = this.#options;
		inBackground(tellActivity(session, wire, report));
		if (approvals) tellApprovals(session, wire, approvals, principal);
	}

	/** The size of this client's terminal, which may become that of the session. */
	#takeSize(size: Size, control: SocketControl): void {
		const {
			session,
			wire,
			attached: { sizes },
		} = this.#options;
		if (this.#sizer) this.#sizer.size = size;
		else {
			const sizer: Sizer = {
				size,
				resize: (wanted) =>
					session.act({ kind: "resize", size: wanted }, control.fence === undefined ? {} : { fence: control.fence }),
			};
			this.#sizer = sizer;
			wire.ended.addEventListener("abort", () => inBackground(sizes.leave(sizer)), { once: true });
		}
		inBackground(sizes.tell(this.#sizer));
	}

	/** Takes part in answering what the program asks, to the end of the connection. */
	async #answer(output: SocketOutput, control: SocketControl): Promise<void> {
		const {
			wire,
			attached: { answerers },
		} = this.#options;
		const answerer: Answerer = {
			get sent() {
				return output.sent;
			},
			get fence() {
				return control.message.mine ? control.message.fence : undefined;
			},
			tell: (replies) => wire.say({ type: "replies", ...replies }),
		};
		control.onChange = () => inBackground(answerers.review());
		wire.ended.addEventListener("abort", () => inBackground(answerers.leave(answerer)), { once: true });
		await answerers.join(answerer);
	}

	/** What is shown now, if it is wanted, and can be had soon. */
	async #screen({ from, scrollback = 0 }: Hello): Promise<Snapshot | undefined> {
		const { session, screens, wire, limits } = this.#options;
		if (from === undefined || !screens) return undefined;
		try {
			return await within(limits.screenMs, [wire.ended], async (signal) => {
				const screen = await screens.snapshot(session, { signal, scrollback });
				if (screen.bytes.byteLength <= limits.screenBytes) return screen;
				const alone = await screens.snapshot(session, { signal, scrollback: 0 });
				return alone.bytes.byteLength <= limits.screenBytes ? alone : undefined;
			});
		} catch (error) {
			// Whoever can't have it has the output, which is all that there is of it.
			if (error instanceof SessionError) return undefined;
			throw error;
		}
	}

	#handle({ data, isBinary }: Received, parts: Parts): void {
		if (!isBinary) {
			this.#obey(parseClientMessage(data.toString()), parts);
			return;
		}
		const frame = decodeClientFrame(data);
		if (frame.kind === "input") {
			parts.input.act({ kind: "write", bytes: frame.bytes }, frame.position);
			if (this.#sizer) inBackground(this.#options.attached.sizes.used(this.#sizer));
		} else if (!parts.output.consumed(frame.offset)) throw new FrameError(`offset ${frame.offset} was not sent yet`);
	}

	#obey(message: ClientMessage, { input, control, sends }: Parts): void {
		switch (message.type) {
			case "hello":
				throw new MessageError("hello is said once");
			case "resize":
				input.act({ kind: "resize", size: { cols: message.cols, rows: message.rows } }, message.position);
				break;
			case "size":
				if (input.isAllowed) this.#takeSize({ cols: message.cols, rows: message.rows }, control);
				break;
			case "signal": {
				const urgent = message.urgent ? { urgent: true } : {};
				input.act({ kind: "signal", signal: known(message.signal), ...urgent }, message.position);
				break;
			}
			case "eof":
				input.act({ kind: "eof" }, message.position);
				break;
			case "take":
				input.control(() => control.take(message));
				break;
			case "release":
				input.control(() => control.release());
				break;
			case "send":
				sends.add(message);
				break;
			case "ping": {
				const nonce = message.nonce === undefined ? {} : { nonce: message.nonce };
				this.#options.wire.say({ type: "pong", ...nonce });
			}
		}
	}

	#refusal({ role }: Hello): SessionError | undefined {
		const { principal, session, witness } = this.#options;
		if (role === "viewer") {
			return new SessionError("not_writable", "a viewer does not write", { hint: "attach as a writer" });
		}
		const place = { workspace: session.spec.workspace, session: session.id };
		if (principal.may("operate", place)) return undefined;
		witness.record({ action: "refused", code: "permission_denied", right: "operate" }, place);
		return lacksRight("operate", place);
	}

	/** The same for all connections of one client; the stream itself is nobody else's business. */
	#holder(stream: string): string {
		const mark = createHash("sha256").update(stream).digest("hex").slice(0, 8);
		return `${this.#options.principal.name}#${mark}`;
	}

	#fail(thrown: unknown): void {
		const { wire, session, sessions, report } = this.#options;
		const error = SessionError.from(thrown);
		if (error.code === "limit_exceeded") wire.close(closeCodes.tooSlow, error.message);
		else if (sessions.get(session.id) === undefined) wire.close(closeCodes.sessionRemoved, "the session was removed");
		else if (error.code === "node_unavailable") wire.close(closeCodes.goingAway, error.message);
		else {
			report(error.cause ?? thrown);
			wire.close(closeCodes.internal, "internal error; the server's log says more");
		}
	}
}

/** Before any output; it counts as none, and is small enough to be sent as a whole. */
function sendScreen(wire: Wire, { offset, bytes }: Snapshot, frameBytes: number): void {
	for (let at = 0; at < bytes.byteLength; at += frameBytes) {
		wire.send(encodeServerFrame({ kind: "screen", offset, bytes: bytes.subarray(at, at + frameBytes) }));
	}
}

/** A name nobody knows is a mistake in the message, as any other. */
function known(signal: string): string {
	try {
		return parseSignal(signal);
	} catch (error) {
		throw new MessageError(error instanceof Error ? error.message : String(error));
	}
}

/** Receipts and news of the lease end with the session or its keeper, which the output tells better. */
function inBackground(watching: Promise<void>): void {
	watching.catch(() => {});
}
