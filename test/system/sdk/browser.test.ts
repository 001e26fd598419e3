/** In a browser a WebSocket can't set headers and does not report why it was refused. */

import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { connect, type WebSocketConstructor } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** As strict as a browser's: two arguments, blobs by default, no `terminate`, no text in an error. */
class BrowserSocket {
	readonly #socket: WebSocket;
	onopen: ((event: never) => void) | null = null;
	onmessage: ((event: never) => void) | null = null;
	onerror: ((event: never) => void) | null = null;
	onclose: ((event: never) => void) | null = null;

	constructor(url: string, protocols: string[]) {
		this.#socket = new WebSocket(url, protocols);
		this.#socket.onopen = () => this.onopen?.({} as never);
		this.#socket.onmessage = ({ data }) => this.onmessage?.({ data } as never);
		this.#socket.onerror = () => this.onerror?.({} as never);
		this.#socket.onclose = ({ code, reason }) => this.onclose?.({ code, reason } as never);
	}

	get binaryType(): string {
		return this.#socket.binaryType === "arraybuffer" ? "arraybuffer" : "blob";
	}

	set binaryType(type: string) {
		if (type !== "arraybuffer") throw new TypeError(`not tried here: ${type}`);
		this.#socket.binaryType = type;
	}

	send(data: string | Uint8Array): void {
		if (this.#socket.readyState === WebSocket.CONNECTING) throw new DOMException("connecting", "InvalidStateError");
		this.#socket.send(data);
	}

	close(code?: number): void {
		if (code !== undefined && code !== 1000 && (code < 3000 || code > 4999)) throw new DOMException(`code ${code}`);
		this.#socket.close(code);
	}
}

test("an attachment in a browser uses a ticket, works as in Node, and learns why it was refused", async () => {
	vi.stubGlobal("WebSocket", BrowserSocket);
	onTestFinished(() => {
		vi.unstubAllGlobals();
	});
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const client = connect({
		url: server.url,
		token: await server.token(),
		WebSocket: BrowserSocket satisfies WebSocketConstructor,
	});
	const session = await client.sessions.create({ argv: ["cat"], mode: "pipe" });
	const attachment = session.attach();
	await attachment.write("hello");
	await attachment.eof();
	expect(await new Response(attachment.bytes).text()).toBe("hello");
	const viewer = session.attach({ role: "viewer", since: 1 });
	expect(await new Response(viewer.bytes).text()).toBe("ello");
	await session.remove();
	await expect(session.attach().next()).rejects.toMatchObject({ code: "session_not_found" });
	const stranger = connect({ url: server.url, token: "wrong", WebSocket: BrowserSocket });
	await expect(stranger.sessions.at(session.id).attach().next()).rejects.toMatchObject({ code: "unauthenticated" });
	const anonymous = connect({ url: server.url, WebSocket: BrowserSocket });
	await expect(anonymous.sessions.at(session.id).attach().next()).rejects.toMatchObject({ code: "unauthenticated" });
});
