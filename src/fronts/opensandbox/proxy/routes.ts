/**
 * `/proxy/{port}/…`: whatever listens on a port of this machine, over HTTP or by an upgrade.
 *
 * Everything is passed on as it comes, at the pace of who takes it; nothing is kept. Whoever may run programs here
 * could reach these ports by a program, so that it takes the same right.
 */

import { type IncomingMessage, type OutgoingHttpHeaders, STATUS_CODES, request as sendRequest } from "node:http";
import { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { checkRight, type Hosting, onAbort, witnessOf } from "../../front.ts";
import { localAddressOf } from "../../local-address.ts";
import { isUpgradable, takeUpgrade } from "../../upgrade.ts";
import { passOverRest, streamedBodies, streamedBody } from "../body.ts";
import { here, type OpenSandboxOptions } from "../options.ts";
import { hopsOf, type RawHeaders, requestHeaders, responseHeaders, upgradeHeaders } from "./headers.ts";

/** OpenSandbox's own server leads through us to us, once; more is a circle. */
const MAX_HOPS = 4;
/** How often an upgraded connection on which nothing is said is tried, and so found dead. */
const KEEP_ALIVE_MS = 30_000;

/** A page of whatever is behind a port must not act as a page of ours. Where there is nothing else, there is no other page. */
const onSharedOrigin = ["Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups allow-downloads"];

export function addProxy(app: FastifyInstance, options: OpenSandboxOptions, hosting: Hosting): void {
	streamedBodies(app);
	const added = options.path === "/" ? [] : onSharedOrigin;
	for (const url of ["/proxy", "/proxy/*"]) {
		app.all(url, { ...streamedBody, config: { policy: "manage" } }, async (request, reply) => {
			checkRight(request, "manage", here);
			const target = targetOf(request, options.path);
			if (!target) return refuse(reply, 400, "port is required");
			// RFC 9112 §3.2; whom it would mean behind us nobody knows.
			if ((request.raw.headersDistinct.host ?? []).length > 1) return refuse(reply, 400, "Bad Request");
			if (hopsOf(request.raw.rawHeaders) >= MAX_HOPS) return refuse(reply, 508, "Loop Detected");
			witnessOf(request).record({ action: "proxy", port: target.port }, here);
			passOn(request, reply, { ...target, added, hosting });
			return reply;
		});
	}
}

type Target = {
	readonly host: string;
	readonly port: number;
	readonly path: string;
	readonly isOwnPort: boolean;
};

/** Undefined if no port is named. */
function targetOf({ raw, url }: FastifyRequest, prefix: string): Target | undefined {
	const behind = url.slice(prefix.length).replace(/^\/?proxy\/?/, "");
	const [, named = "", path = "", query = ""] = /^([^/?]*)([^?]*)(.*)$/s.exec(behind) ?? [];
	const port = /^\d{1,5}$/.test(named) ? Number(named) : 0;
	if (port < 1 || port > 65_535) return undefined;
	const own = localAddressOf(raw.socket);
	const isOwnPort = own?.port === port;
	// We may listen elsewhere than on the loopback address.
	const host = isOwnPort ? own.host.replace(/^\[|\]$/g, "") : "127.0.0.1";
	return { host, port, path: `${path === "" ? "/" : path}${query}`, isOwnPort };
}

type Passing = Target & { readonly added: readonly string[]; readonly hosting: Hosting };

function passOn(request: FastifyRequest, reply: FastifyReply, passing: Passing): void {
	const { host, port, path, isOwnPort, added, hosting } = passing;
	const isUpgrade = isUpgradable(request);
	const { raw } = request;
	const headers: OutgoingHttpHeaders = requestHeaders(raw.rawHeaders, {
		host: `${host.includes(":") ? `[${host}]` : host}:${port}`,
		isOwnPort,
		address: raw.socket.remoteAddress ?? "",
		isUpgrade,
	});
	const over = overOf(request, reply, hosting);
	// A connection for each request: one that was kept could be closed by the other side just when it is used.
	const upstream = sendRequest({ host, port, path, method: request.method, headers, setHost: false, agent: false });
	const fail = () => {
		upstream.destroy();
		// After its answer has begun, whoever reads that hears of it.
		if (!reply.raw.headersSent && !over.aborted) refuse(reply, 502, "Bad Gateway");
	};
	over.addEventListener("abort", () => upstream.destroy(), { once: true });
	upstream.on("response", (response) => {
		const passed = [...responseHeaders(response.rawHeaders, isOwnPort), ...added];
		if (!answer(reply, response, passed)) fail();
	});
	upstream.on("upgrade", (response, socket, head) => {
		const passed = upgradeHeaders(response.rawHeaders, isOwnPort);
		if (isUpgrade) connect(request, { answer: headOf(response, passed), socket, head }, over);
		else fail();
	});
	upstream.on("error", fail);
	reply.hijack();
	passOverRest(request, reply);
	if (isUpgrade) upstream.end();
	else raw.pipe(upstream);
}

/** Aborted when the client has gone, may not be here any more, or the server closes. */
function overOf({ principal, raw }: FastifyRequest, reply: FastifyReply, hosting: Hosting): AbortSignal {
	const over = new AbortController();
	reply.raw.once("close", () => over.abort());
	const destroy = () => raw.socket.destroy();
	for (const reason of [hosting.closing, principal?.revoked]) if (reason) onAbort(reason, over.signal, destroy);
	return over.signal;
}

/** False, with nothing sent, for what HTTP does not allow us to say although it was said to us. */
function answer(reply: FastifyReply, response: IncomingMessage, headers: string[]): boolean {
	const to = reply.raw;
	const { statusCode = 0, statusMessage } = response;
	// An upgrade that does not say to what.
	if (statusCode === 101) return false;
	try {
		to.writeHead(statusCode, statusMessage, headers);
	} catch {
		return false;
	}
	// Before there is a body: who waits for events must know that they may come.
	to.flushHeaders();
	// An answer that breaks off must not look like a whole one: the connection ends with it.
	pipeline(response, to, () => {});
	return true;
}

type Upgraded = { readonly answer: string; readonly socket: Duplex; readonly head: Buffer };

/** From here on the two connections are one, whatever is spoken on it. */
function connect(request: FastifyRequest, { answer, socket: theirs, head }: Upgraded, over: AbortSignal): void {
	const offer = takeUpgrade(request);
	if (!offer || over.aborted) {
		theirs.destroy();
		return;
	}
	const ours = offer.socket;
	for (const one of [ours, theirs]) {
		if (!(one instanceof Socket)) continue;
		one.setTimeout(0);
		one.setKeepAlive(true, KEEP_ALIVE_MS);
		one.setNoDelay(true);
	}
	// Of headers each character is a byte to Node.
	ours.write(answer, "latin1");
	if (head.length > 0) ours.write(head);
	if (offer.head.length > 0) theirs.write(offer.head);
	passAll(theirs, ours);
	passAll(ours, theirs);
}

/** Until either is over, which ends both. */
function passAll(from: Duplex, to: Duplex): void {
	from.pipe(to);
	from.once("close", () => to.destroy());
	from.on("error", () => from.destroy());
}

function headOf({ statusCode, statusMessage }: IncomingMessage, headers: RawHeaders): string {
	const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
	for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
	return `${lines.join("\r\n")}\r\n\r\n`;
}

/** In plain text, as the original. */
function refuse(reply: FastifyReply, status: number, text: string): FastifyReply {
	if (reply.sent) {
		// The reason of an answer that could not be passed on is still there otherwise.
		const reason = STATUS_CODES[status];
		reply.raw.writeHead(status, reason, { "content-type": "text/plain; charset=utf-8", "content-length": text.length });
		reply.raw.end(text);
		return reply;
	}
	return reply.code(status).type("text/plain; charset=utf-8").send(text);
}
