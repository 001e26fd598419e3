/**
 * `/proxy/{port}/…`: forwards HTTP requests and upgrades to a port of this machine.
 *
 * Bytes are forwarded at the receiver's pace, without buffering. A caller that may run programs could reach these ports
 * anyway, so the same right is required.
 */

import { type IncomingMessage, type OutgoingHttpHeaders, STATUS_CODES, request as sendRequest } from "node:http";
import { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { onAbort } from "../../../../core/async/abort.ts";
import { checkUnconfined } from "../../../../core/session/workspaces.ts";
import { auditedCallerOf, checkRight } from "../../../../http/caller.ts";
import type { ServerContext } from "../../../../http/front.ts";
import { localAddressOf } from "../../../../http/local-address.ts";
import { isUpgradable, takeUpgrade } from "../../../../http/upgrade.ts";
import { defaultPlacement, type OpenSandboxOptions } from "../options.ts";
import { discardRest, streamedBodies, streamedBody } from "../request-body.ts";
import { hopsOf, type RawHeaders, requestHeaders, responseHeaders, upgradeHeaders } from "./headers.ts";

/**
 * OpenSandbox's own server proxies through this one once. More rounds are a loop.
 * @limit rounds of a request through `/proxy` | 508
 */
const MAX_HOPS = 4;
/** Interval of TCP keep-alive on idle upgraded connections, to find dead ones. */
const KEEP_ALIVE_MS = 30_000;

/** Pages behind a port must not act with the origin of our pages. At the root path there are no pages of ours. */
const onSharedOrigin = ["Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups allow-downloads"];

export function addProxy(app: FastifyInstance, options: OpenSandboxOptions, hosting: ServerContext): void {
	streamedBodies(app);
	const added = options.path === "/" ? [] : onSharedOrigin;
	for (const url of ["/proxy", "/proxy/*"]) {
		app.all(url, { ...streamedBody, config: { policy: "manage" } }, async (request, reply) => {
			checkRight(request, "manage", defaultPlacement);
			checkUnconfined(options.workspaces, defaultPlacement.workspace, { what: "the proxy", needs: "network" });
			const target = targetOf(request, options.path);
			if (!target) return refuse(reply, 400, "port is required");
			// RFC 9112 §3.2: with several, the target behind us could choose another one.
			if ((request.raw.headersDistinct.host ?? []).length > 1) return refuse(reply, 400, "Bad Request");
			if (hopsOf(request.raw.rawHeaders) >= MAX_HOPS) return refuse(reply, 508, "Loop Detected");
			auditedCallerOf(request).record({ action: "proxy", port: target.port }, defaultPlacement);
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

/** Undefined if the URL names no port. */
function targetOf({ raw, url }: FastifyRequest, prefix: string): Target | undefined {
	const behind = url.slice(prefix.length).replace(/^\/?proxy\/?/, "");
	const [, named = "", path = "", query = ""] = /^([^/?]*)([^?]*)(.*)$/s.exec(behind) ?? [];
	const port = /^\d{1,5}$/.test(named) ? Number(named) : 0;
	if (port < 1 || port > 65_535) return undefined;
	const own = localAddressOf(raw.socket);
	const isOwnPort = own?.port === port;
	// This server may listen on another address.
	const host = isOwnPort ? own.host.replace(/^\[|\]$/g, "") : "127.0.0.1";
	return { host, port, path: `${path === "" ? "/" : path}${query}`, isOwnPort };
}

type Passing = Target & { readonly added: readonly string[]; readonly hosting: ServerContext };

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
	// A new connection per request: a reused one might be closed by the other side just when it is used.
	const upstream = sendRequest({ host, port, path, method: request.method, headers, setHost: false, agent: false });
	const fail = () => {
		upstream.destroy();
		// After the response has started, aborting it tells the client.
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
	discardRest(request, reply);
	if (isUpgrade) upstream.end();
	else raw.pipe(upstream);
}

/** Aborted when the client leaves, its credential is revoked, or the server closes. */
function overOf({ principal, raw }: FastifyRequest, reply: FastifyReply, hosting: ServerContext): AbortSignal {
	const over = new AbortController();
	reply.raw.once("close", () => over.abort());
	const destroy = () => raw.socket.destroy();
	for (const reason of [hosting.closing, principal?.revoked]) if (reason) onAbort(reason, over.signal, destroy);
	return over.signal;
}

/** Sends the response. False, with nothing sent, if it is not valid HTTP. */
function answer(reply: FastifyReply, response: IncomingMessage, headers: string[]): boolean {
	const to = reply.raw;
	const { statusCode = 0, statusMessage } = response;
	// A 101 without an Upgrade header.
	if (statusCode === 101) return false;
	try {
		to.writeHead(statusCode, statusMessage, headers);
	} catch {
		return false;
	}
	// Before any body: a client of an event stream must see the headers.
	to.flushHeaders();
	// A truncated response must not look complete: the connection ends with it.
	pipeline(response, to, () => {});
	return true;
}

type Upgraded = { readonly answer: string; readonly socket: Duplex; readonly head: Buffer };

/** Connects both sockets for any protocol. */
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
	// In headers, Node uses one character per byte.
	ours.write(answer, "latin1");
	if (head.length > 0) ours.write(head);
	if (offer.head.length > 0) theirs.write(offer.head);
	passAll(theirs, ours);
	passAll(ours, theirs);
}

/** Until either socket closes, which closes both. */
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

/** Plain text, as in the original. */
function refuse(reply: FastifyReply, status: number, text: string): FastifyReply {
	if (reply.sent) {
		// A response that could not be forwarded may have left its reason phrase.
		const reason = STATUS_CODES[status];
		reply.raw.writeHead(status, reason, { "content-type": "text/plain; charset=utf-8", "content-length": text.length });
		reply.raw.end(text);
		return reply;
	}
	return reply.code(status).type("text/plain; charset=utf-8").send(text);
}
