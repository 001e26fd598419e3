/**
 * A keeper's socket behind a gate: the test chooses the frame after which the keeper's messages wait, and when they
 * arrive.
 */

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Change } from "../../src/core/async/change.ts";
import { encodeFrame, FrameDecoder } from "../../src/keeper/link/link.ts";
import type { FromKeeper } from "../../src/keeper/link/messages.ts";

export class HeldLink {
	/** Every frame that the keeper sent and the server received, in order. */
	readonly passed: FromKeeper[] = [];
	readonly #path: string;
	readonly #target: string;
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	readonly #change = new Change();
	/** Whether this frame is the last one before the gate closes. */
	#isLast: (frame: FromKeeper) => boolean = () => false;
	#isHeld = false;

	constructor(path: string, target: string) {
		this.#path = path;
		this.#target = target;
		this.#server = createServer((client) => this.#join(client));
	}

	get isHeld(): boolean {
		return this.#isHeld;
	}

	async start(): Promise<void> {
		this.#server.listen(this.#path);
		await once(this.#server, "listening");
	}

	/** Closes the gate after the next frame that matches. */
	holdAfter(isLast: (frame: FromKeeper) => boolean): void {
		this.#isLast = isLast;
	}

	hold(): void {
		this.#isHeld = true;
	}

	/** Opens the gate: waiting frames arrive now. */
	release(): void {
		this.#isLast = () => false;
		this.#isHeld = false;
		this.#change.happen();
	}

	async close(): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		this.release();
		this.#server.close();
		await once(this.#server, "close");
	}

	#join(client: Socket): void {
		const keeper = connect(this.#target);
		for (const socket of [client, keeper]) {
			this.#sockets.add(socket);
			socket.on("error", () => {});
			socket.on("close", () => {
				this.#sockets.delete(socket);
				client.destroy();
				keeper.destroy();
			});
		}
		client.pipe(keeper);
		void this.#pass(keeper, client).catch(() => {});
	}

	async #pass(keeper: Socket, client: Socket): Promise<void> {
		const decoder = new FrameDecoder();
		for await (const chunk of keeper as AsyncIterable<Buffer>) {
			for (const { header, body } of decoder.push(chunk)) {
				while (this.#isHeld) await this.#change.wait();
				const frame = header as FromKeeper;
				for (const part of encodeFrame(frame, body)) client.write(part);
				this.passed.push(frame);
				if (this.#isLast(frame)) this.#isHeld = true;
			}
		}
	}
}
