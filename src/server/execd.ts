/** `hawser execd`: the OpenSandbox front alone on a port of its own, by the rules of the server it stands in for. */

import { adminOnly, anybody } from "../access/fixed.ts";
import { wholeEnvironment } from "../backends/environment.ts";
import { createAnswerUnknown, createOpenSandboxFront } from "../fronts/opensandbox/front.ts";
import type { DropIn } from "./server.ts";

type ExecdOptions = {
	readonly host: string;
	readonly port: number;
	/** What `X-EXECD-ACCESS-TOKEN` must be; everybody is let in without it. */
	readonly accessToken: string | undefined;
	/** Whether pages of others, and requests for other hosts, are answered even without a token. */
	readonly allowForeign: boolean;
	/** A file of further variables for programs (`EXECD_ENVS`). */
	readonly envFile: string | undefined;
};

/** What the original takes: paths are in the query, and some clients name tens of thousands of them at once. */
const MAX_HEAD_BYTES = 1024 * 1024;

export function execd({ host, port, accessToken, allowForeign, envFile }: ExecdOptions): DropIn {
	const authorize = accessToken === undefined ? anybody : adminOnly(accessToken);
	return ({ openSandbox }) => ({
		host,
		port,
		isOpen: accessToken !== undefined || allowForeign ? "to everybody" : "to programs",
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
