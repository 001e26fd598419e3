/** Tokens over HTTP: create narrower ones, list, revoke. */

import type { CreateGate } from "../../../api/types.ts";
import { type Access, grantorOf } from "../../../core/policy/access.ts";
import { GATE_TIMEOUT_MS, type Gate } from "../../../core/policy/gate.ts";
import { checkStartRate } from "../../../core/policy/start-rate.ts";
import { checkExpressions } from "../../../services/gates/expressions.ts";
import type { Serve } from "../serve.ts";
import { answerRevoked } from "./revocation.ts";

/** Every token may call these. `Access` decides which tokens the caller may create, see and revoke. */
export function addTokens(serve: Serve, access: Access): void {
	serve("createToken", async ({ body, caller, witness, reply }) => {
		const by = grantorOf(caller);
		checkStartRate(by.countCreation());
		const { gate: wanted, ...rest } = body;
		const gate = wanted && gateOf(wanted);
		const { secret, token } = await access.createToken(by, { ...rest, gate });
		witness.record({ action: "token-made", token: token.id, scopes: token.scopes });
		reply.header("cache-control", "no-store").header("location", `/v1/tokens/${token.id}`);
		return { ...token, token: secret };
	});

	serve("listTokens", async ({ caller }) => ({ tokens: access.listTokens(grantorOf(caller)) }));

	serve("revokeToken", async ({ params: { id }, caller, witness, reply }) => {
		const ended = await access.revokeToken(grantorOf(caller), id);
		witness.record({ action: "token-revoked", token: id });
		return answerRevoked(reply, ended);
	});
}

function gateOf({
	match = [],
	keys = "enter",
	signals = false,
	stops = false,
	timeoutMs = GATE_TIMEOUT_MS,
}: CreateGate): Gate {
	checkExpressions(match);
	return { match, keys, signals, stops, timeoutMs };
}
