/** `hawser execd`: the OpenSandbox front alone on its own port, with the rules of the original. */

import { adminOnly, allowAnyone } from "../../access/fixed-access.ts";
import { wholeEnvironment } from "../../backends/environment.ts";
import { createAnswerUnknown, createOpenSandboxFront } from "../../fronts/dropins/opensandbox/front.ts";
import type { DropIn } from "../server.ts";

type ExecdOptions = {
	readonly host: string;
	readonly port: number;
	/** The required value of `X-EXECD-ACCESS-TOKEN`; without it every client is accepted. */
	readonly accessToken: string | undefined;
	/** Whether pages of other origins, and requests for other hosts, are accepted without a token. */
	readonly allowForeign: boolean;
	/** A file of further variables for programs (`EXECD_ENVS`). */
	readonly envFile: string | undefined;
};

/**
 * Same as the original: clients send tens of thousands of paths in the query.
 * @limit a request's line and headers, as in the original; in `hawser serve` 16 KiB | 431
 */
const MAX_HEAD_BYTES = 1024 * 1024;

export function execd({ host, port, accessToken, allowForeign, envFile }: ExecdOptions): DropIn {
	const authorize = accessToken === undefined ? allowAnyone : adminOnly(accessToken);
	return ({ openSandbox }) => ({
		host,
		port,
		isOpen: accessToken !== undefined || allowForeign ? "to all" : "to programs",
		authorize,
		maxHeadBytes: MAX_HEAD_BYTES,
		hasLongBodies: true,
		fronts: [
			createOpenSandboxFront({
				...openSandbox,
				path: "/",
				environment: () => wholeEnvironment(process.env, ["EXECD_ACCESS_TOKEN"]),
				cwd: process.cwd(),
				envFile,
			}),
		],
		answerUnknown: createAnswerUnknown(authorize),
	});
}
