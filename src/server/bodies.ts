/**
 * What the bodies of all requests may take together, from before they are read until they are answered; those of acts
 * that wait to be approved have room of their own, so that they take it from nobody who has no gate.
 */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { SessionError } from "../core/errors.ts";
import type { ByteBudget } from "../fronts/byte-budget.ts";
import { whenOver } from "../fronts/front.ts";
import type { Budgets } from "./budgets.ts";

const TOO_LARGE = 413;

/** Of requests with a body: moves it to those that are held. */
const asides = new WeakMap<FastifyRequest, () => void>();

/** Something that the request asks for is about to be held; throws if there is no room for its body. */
export function setBodyAside(request: FastifyRequest): void {
	asides.get(request)?.();
}

/** Refuses those for which there is no room, before anything of them is read. */
export function limitBodies(
	app: FastifyInstance,
	{ bodies, heldBodies }: Pick<Budgets, "bodies" | "heldBodies">,
): void {
	// After the door, so that it is known who calls.
	app.addHook("preParsing", async (request, reply) => {
		const { principal } = request;
		const bytes = bodyBytes(request);
		let budget = bodies;
		if (!takeAll(budget, principal, bytes)) {
			throw new SessionError("limit_exceeded", "the bodies of requests that wait take all the room there is for them", {
				hint: "send fewer at a time, and try again",
			});
		}
		whenOver(reply, () => budget.giveBack(principal, bytes));
		asides.set(request, () => {
			if (budget === heldBodies || reply.raw.destroyed) return;
			if (!takeAll(heldBodies, principal, bytes)) {
				throw new SessionError("limit_exceeded", "what waits to be approved takes all the room there is for it", {
					hint: "wait until somebody has decided on some of it",
				});
			}
			bodies.giveBack(principal, bytes);
			budget = heldBodies;
		});
	});
	// Who reads only once all is sent must hear why it was refused. Fastify would close the connection, and what is
	// under way would then take the answer with it; so the rest is read and dropped, within the time for any request.
	app.addHook("onSend", async ({ raw }, reply) => {
		if (reply.statusCode !== TOO_LARGE) return;
		reply.removeHeader("connection");
		raw.resume();
	});
}

/** All of it or nothing. */
function takeAll(budget: ByteBudget, principal: FastifyRequest["principal"], bytes: number): boolean {
	const taken = budget.take(principal, bytes);
	if (taken === bytes) return true;
	budget.giveBack(principal, taken);
	return false;
}

/** What a body takes at most; nothing if none is read. */
function bodyBytes({ headers, method, routeOptions }: FastifyRequest): number {
	if (method === "GET" || method === "HEAD") return 0;
	const most = routeOptions.bodyLimit ?? 0;
	// One whose length is not known beforehand may be as long as any.
	if (headers["transfer-encoding"] !== undefined) return most;
	const bytes = Number(headers["content-length"] ?? 0);
	// One that is too long is refused without being read.
	return bytes <= most ? bytes : 0;
}
