/** `hawser execd`: the OpenSandbox front alone on a port of its own, by the rules of the server it stands in for. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { wholeEnvironment } from "../backends/environment.ts";
import { unauthorized } from "../fronts/opensandbox/errors.ts";
import { createOpenSandboxFront, credential } from "../fronts/opensandbox/front.ts";
import { adminOnly, anybody } from "./listen.ts";
import type { DropIn } from "./server.ts";

export type ExecdOptions = {
	readonly host: string;
	readonly port: number;
	/** What `X-EXECD-ACCESS-TOKEN` must be; everybody is let in without it. */
	readonly accessToken: string | undefined;
	/** A file of further variables for programs (`EXECD_ENVS`). */
	readonly envFile: string | undefined;
};

export function execd({ host, port, accessToken, envFile }: ExecdOptions): DropIn {
	const authorize = accessToken === undefined ? anybody : adminOnly(accessToken);
	return ({ openSandbox }) => ({
		host,
		port,
		isOpen: true,
		authorize,
		fronts: [
			createOpenSandboxFront({
				...openSandbox,
				environment: () => wholeEnvironment(process.env),
				cwd: process.cwd(),
				envFile,
			}),
		],
		answerUnknown(request: FastifyRequest, reply: FastifyReply) {
			// The token is asked for before anything else, whether the path is there or not.
			const isAllowed = accessToken === undefined || credential(request) === accessToken;
			if (!isAllowed) return reply.code(401).send(unauthorized);
			return reply.code(404).type("text/plain").send("404 page not found");
		},
	});
}
