/** A webhook receiver that verifies deliveries as any receiver would, without code of this project. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { WebhookNotice } from "../../src/api/types.ts";
import { Change } from "../../src/core/async/change.ts";
import { untilFact } from "./reading.ts";

export type Received = {
	readonly id: string;
	readonly attempt: number;
	readonly path: string;
	readonly notice: WebhookNotice;
	/** Whether it is signed with this secret. */
	isSignedWith(secret: string): boolean;
};

type Answer = (received: Received, response: ServerResponse) => void;

export const taken: Answer = (_received, response) => void response.writeHead(204).end();
export const refused: Answer = (_received, response) => void response.writeHead(500).end("not now");
export const silent: Answer = () => {};

export class WebhookReceiver {
	/** How deliveries are answered from now on. */
	answer: Answer = taken;
	readonly received: Received[] = [];
	readonly #server: Server;
	readonly #change = new Change();
	readonly #isSecure: boolean;

	private constructor(tls?: { readonly cert: string; readonly key: string }) {
		const receive = (request: IncomingMessage, response: ServerResponse) => void this.#receive(request, response);
		this.#isSecure = tls !== undefined;
		this.#server = tls ? createTlsServer(tls, receive) : createServer(receive);
	}

	static async start(tls?: { readonly cert: string; readonly key: string }): Promise<WebhookReceiver> {
		const receiver = new WebhookReceiver(tls);
		receiver.#server.listen(0, "127.0.0.1");
		await once(receiver.#server, "listening");
		onTestFinished(() => {
			receiver.#server.closeAllConnections();
			receiver.#server.close();
		});
		return receiver;
	}

	get url(): string {
		const { port } = this.#server.address() as AddressInfo;
		return `http${this.#isSecure ? "s" : ""}://127.0.0.1:${port}/hook`;
	}

	/** The first match, which may have arrived already. */
	until(what: string, isIt: (received: Received) => boolean): Promise<Received> {
		return untilFact(this.#change, () => this.received.find(isIt), {
			missed: () => `${what} did not come; what did: ${JSON.stringify(this.received)}`,
		});
	}

	async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const body = await text(request).catch(() => undefined);
		// The sender died in the middle of it.
		if (body === undefined) return;
		const header = (name: string) => String(request.headers[name]);
		const received: Received = {
			id: header("webhook-id"),
			attempt: Number(header("webhook-attempt")),
			path: request.url ?? "",
			notice: JSON.parse(body) as WebhookNotice,
			isSignedWith(secret) {
				const timestamp = header("webhook-timestamp");
				const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < 300;
				const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
				const wanted = createHmac("sha256", key)
					.update(`${header("webhook-id")}.${timestamp}.${body}`)
					.digest();
				const [version, signature = ""] = header("webhook-signature").split(",");
				const given = Buffer.from(signature, "base64");
				return isFresh && version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted);
			},
		};
		this.received.push(received);
		this.#change.happen();
		this.answer(received, response);
	}
}
