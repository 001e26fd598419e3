/** Tokens over HTTP: make narrower ones, see them, revoke them. */

import type { Access } from "../../../core/access.ts";
import { GATE_TIMEOUT_MS, type Gate } from "../../../core/gate.ts";
import type { GateMessage } from "../../../protocol/access.ts";
import { checkCreation, witnessOf } from "../../front.ts";
import type { NativeApp } from "../options.ts";
import { principalOf } from "../request.ts";
import { checkExpressions } from "../search/gate-expressions.ts";
import { answerEnded } from "./ended.ts";
import { createdToken, createToken, notDurable, tokenList, tokenParams } from "./messages.ts";

/** Any token may do these; what it may do them with, `Access` decides by what it is. */
export function addTokens(app: NativeApp, access: Access): void {
	app.post(
		"/v1/tokens",
		{
			config: {
				policy: "read",
				operation: "createToken",
				answerHeaders: ["location"],
				summary: "Make a narrower token",
			},
			schema: { body: createToken, response: { 201: createdToken } },
		},
		async (request, reply) => {
			const principal = principalOf(request);
			checkCreation(principal.countCreation());
			const { gate: wanted, ...rest } = request.body;
			const gate = wanted && gateOf(wanted);
			const { secret, token } = await access.createToken(principal, { ...rest, gate });
			witnessOf(request).record({ action: "token-made", token: token.id, scopes: token.scopes });
			return reply
				.code(201)
				.header("cache-control", "no-store")
				.header("location", `/v1/tokens/${token.id}`)
				.send({ ...token, token: secret });
		},
	);

	app.get(
		"/v1/tokens",
		{
			config: { policy: "read", operation: "listTokens", summary: "List tokens" },
			schema: { response: { 200: tokenList } },
		},
		async (request) => ({
			tokens: access.listTokens(principalOf(request)),
		}),
	);

	app.delete(
		"/v1/tokens/:id",
		{
			config: { policy: "read", operation: "revokeToken", summary: "Revoke a token", answers: { 204: "" } },
			schema: { params: tokenParams, response: { 202: notDurable } },
		},
		async (request, reply) => {
			const { id } = request.params;
			const ended = await access.revokeToken(principalOf(request), id);
			witnessOf(request).record({ action: "token-revoked", token: id });
			return answerEnded(reply, ended);
		},
	);
}

function gateOf({
	match = [],
	keys = "enter",
	signals = false,
	stops = false,
	timeoutMs = GATE_TIMEOUT_MS,
}: Partial<GateMessage>): Gate {
	checkExpressions(match);
	return { match, keys, signals, stops, timeoutMs };
}
