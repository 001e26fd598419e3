/**
 * Limits the memory that request bodies use, counted from before a body is read until its request is answered. Bodies
 * of requests that wait for approval have a separate budget, so that they do not crowd out callers without a gate.
 */

import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { limits } from "../api/messages.ts";
import type { Budget } from "../core/async/budget.ts";
import { SessionError } from "../core/errors.ts";
import { excessOf } from "../core/json-scan.ts";
import { holdsAnywhere } from "../core/policy/scope.ts";
import { onAnswerClosed } from "./answer.ts";
import type { SharedLimits } from "./limits/budgets.ts";
import type { FairScheduler } from "./limits/fair-share.ts";
import { isUpgradable } from "./upgrade.ts";

const TOO_LARGE = 413;

/** Moves the body of a request to the budget of held bodies. Set for requests with a body. */
const asides = new WeakMap<FastifyRequest, () => void>();

/**
 * Called before a request starts to wait for approval. Throws if the budget of held bodies has no room for its body.
 */
export function moveBodyToHeld(request: FastifyRequest): void {
	asides.get(request)?.();
}

/** Refuses a request before its body is read if the budget has no room for it. */
export function limitBodies(
	app: FastifyInstance,
	{ bodies, heldBodies }: Pick<SharedLimits, "bodies" | "heldBodies">,
): void {
	// Runs after admission, which sets the principal.
	app.addHook("preParsing", async (request, reply) => {
		const { principal } = request;
		const bytes = bodyBytes(request);
		checkReader(request, bytes);
		let budget = bodies;
		if (!takeAll(budget, principal, bytes)) {
			throw budget.refusal(principal);
		}
		onAnswerClosed(reply, () => budget.giveBack(principal, bytes));
		asides.set(request, () => {
			if (budget === heldBodies || reply.raw.destroyed) return;
			if (!takeAll(heldBodies, principal, bytes)) {
				throw heldBodies.refusal(principal);
			}
			bodies.giveBack(principal, bytes);
			budget = heldBodies;
		});
	});
	app.addHook("onSend", async (request, reply) => {
		const isTooLarge = reply.statusCode === TOO_LARGE;
		// Fastify would close the connection, and the answer could be lost with it.
		if (isTooLarge) reply.removeHeader("connection");
		if (request.raw.complete || isUpgradable(request)) return;
		// A route that reads a body by itself may answer before its end.
		if (isTooLarge || !request.raw.readableDidRead) dropBody(request.raw);
	});
}

/**
 * Reads and drops the rest of a refused body, within the request timeout: a client that reads only after it has sent
 * its whole body must still get the error. Node would read up to 2 MiB of each connection in one turn of the event loop.
 */
function dropBody(body: IncomingMessage): void {
	body.on("data", () => {
		body.pause();
		setImmediate(() => body.resume());
	});
}

/**
 * The session, and so the right to it, is known only after the body is read. Until then, a caller that has the right
 * nowhere is limited to the body size of public routes, and so is one that may operate nothing: guests that may only
 * watch could keep the event loop busy with large bodies, and none of their requests needs one.
 */
function checkReader({ principal, routeOptions }: FastifyRequest, bytes: number): void {
	if (principal === null || bytes <= limits.publicBodyBytes) return;
	const needed = routeOptions.config.policy === "manage" ? "manage" : "operate";
	if (holdsAnywhere(principal.scopes, needed)) return;
	throw new SessionError("permission_denied", `this token may not ${needed} anything, so its large body is not read`);
}

/**
 * Limits the cost of parsing a JSON body, and rejects bodies that would change an object's prototype. A body is parsed,
 * checked and handed to its route in its connection's turn: without turns, callers with hundreds of connections would
 * delay each turn of the event loop by all of their bodies, and a turn accepts only one new connection.
 */
export function parseBodies(app: FastifyInstance, share: FairScheduler): void {
	const parse = app.getDefaultJsonParser("error", "error");
	app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
		const text = String(body);
		share.take(request.raw.socket, text.length, () => {
			const fault = excessOf(text);
			if (fault !== undefined) return done(new SessionError("limit_exceeded", `the body is refused: ${fault}`));
			void parse(request, text, (error, value) => done(error && isJson(text) ? forbiddenName() : error, value));
		});
	});
}

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

function forbiddenName(): SessionError {
	return new SessionError("invalid_argument", "`__proto__` and `constructor.prototype` are not allowed as keys");
}

/** Takes all bytes or none. */
function takeAll(budget: Budget, principal: FastifyRequest["principal"], bytes: number): boolean {
	const taken = budget.take(principal, bytes);
	if (taken === bytes) return true;
	budget.giveBack(principal, taken);
	return false;
}

/** The most memory that the body may use; 0 if it is not read. */
function bodyBytes({ headers, method, routeOptions }: FastifyRequest): number {
	if (method === "GET" || method === "HEAD") return 0;
	const most = routeOptions.bodyLimit ?? 0;
	// A chunked body declares no length.
	if (headers["transfer-encoding"] !== undefined) return most;
	const bytes = Number(headers["content-length"] ?? 0);
	// A body that is too long is refused without being read.
	return bytes <= most ? bytes : 0;
}
