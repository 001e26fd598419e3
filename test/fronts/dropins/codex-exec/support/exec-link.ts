/** The transport of a test client. It can be cut at any message. */

import { once } from "node:events";
import { WebSocket } from "ws";

export interface Link {
	send(text: string): void;
	/** Ends it like a crashed client, without a closing handshake. */
	cut(): void;
	onText: (text: string) => void;
	onClosed: () => void;
}

export async function openSocket(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
	const socket = new WebSocket(url, { headers, perMessageDeflate: false });
	await once(socket, "open");
	return socket;
}

export async function openLink(url: string, headers: Record<string, string> = {}): Promise<Link> {
	return linkOf(await openSocket(url, headers));
}

export function linkOf(socket: WebSocket): Link {
	const link: Link = {
		send: (text) => socket.send(text),
		cut: () => socket.terminate(),
		onText: () => {},
		onClosed: () => {},
	};
	socket.on("error", () => {});
	socket.on("message", (data: Buffer, isBinary) => {
		if (isBinary) throw new Error("a binary frame");
		link.onText(data.toString());
	});
	socket.on("close", () => link.onClosed());
	return link;
}

/** Breaks at one message: the last one sent `up` leaves, and one that comes `down` is lost with the connection. */
export function breakingLink(link: Link, direction: "up" | "down", after: number): Link {
	let passed = 0;
	const isOver = () => ++passed >= after;
	const breaking: Link = {
		send(text) {
			link.send(text);
			if (direction === "up" && isOver()) link.cut();
		},
		cut: () => link.cut(),
		onText: () => {},
		onClosed: () => {},
	};
	link.onText = (text) => {
		if (direction === "down" && isOver()) link.cut();
		else breaking.onText(text);
	};
	link.onClosed = () => breaking.onClosed();
	return breaking;
}
