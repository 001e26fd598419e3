/** The web UI: the pages and files that were built of `web/`, for browsers. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SessionError } from "../../core/errors.ts";
import { answerErrors } from "../errors.ts";
import { bearer, type Front, type Hosting } from "../front.ts";
import { type BuiltFile, readBuilt } from "./files.ts";

type WebFrontOptions = {
	/** Where the build has left them. */
	readonly directory: string;
};

/** All of them are one page, which looks at its address; `/signin` is the server's own. */
export const pages = ["/", "/grid", "/settings", "/s/:id", "/s/:id/play", "/w/:workspace", "/secret/:id"] as const;

/** Scripts, styles and connections from here and nowhere else; markup from text is lit-html's alone, and the worker's address ours. */
const POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"img-src 'self'",
	"connect-src 'self'",
	"manifest-src 'self'",
	"worker-src 'self'",
	"base-uri 'none'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"require-trusted-types-for 'script'",
	"trusted-types lit-html hawser-worker",
].join("; ");

const pageHeaders = {
	"content-type": "text/html; charset=utf-8",
	"cache-control": "no-store",
	"content-security-policy": POLICY,
	"cross-origin-opener-policy": "same-origin",
	"permissions-policy": "clipboard-read=(self), clipboard-write=(self)",
} as const;

/** The name of a file in `/assets` changes with what is in it. */
const FOREVER = "public, max-age=31536000, immutable";

export function createWebFront({ directory }: WebFrontOptions): Front {
	const send = async (request: FastifyRequest, reply: FastifyReply, name: string, caching: string) => {
		const file = await readBuilt(directory, name, String(request.headers["accept-encoding"] ?? ""));
		if (!file) throw new SessionError("not_found", `there is no ${request.url.split("?", 1)[0]?.slice(0, 200)}`);
		return answer(reply.header("cache-control", caching), file);
	};
	return {
		name: "web",
		credential: bearer,
		register(app: FastifyInstance, hosting: Hosting): void {
			answerErrors(app, hosting);
			const config = { policy: "public" } as const;
			for (const page of pages)
				app.get(page, { config }, async (request, reply) => sendPage(request, reply, directory));
			app.get<Named>("/assets/:name", { config }, (request, reply) =>
				send(request, reply, `assets/${request.params.name}`, FOREVER),
			);
			app.get<Named>("/icons/:name", { config }, (request, reply) =>
				send(request, reply, `icons/${request.params.name}`, "no-cache"),
			);
			// A stale one of these would outlive the server that it came from.
			for (const name of ["manifest.webmanifest", "worker.js"]) {
				app.get(`/${name}`, { config }, (request, reply) => send(request, reply, name, "no-cache"));
			}
		},
	};
}

type Named = { Params: { name: string } };

function answer(reply: FastifyReply, { type, encoding, content }: BuiltFile): FastifyReply {
	reply.header("vary", "accept-encoding").type(type);
	return (encoding === undefined ? reply : reply.header("content-encoding", encoding)).send(content);
}

/** Its addresses are relative to where it is, and a proxy may have put us below a path that we do not know: so they say how far up they begin. */
async function sendPage(request: FastifyRequest, reply: FastifyReply, directory: string): Promise<FastifyReply> {
	const file = await readBuilt(directory, "index.html", "");
	if (!file) throw new SessionError("not_found", "the web UI was not built here; npm run build does it");
	const depth = (request.url.split("?", 1)[0] ?? "/").split("/").length - 2;
	const html = file.content.toString().replaceAll('="./', `="${depth === 0 ? "./" : "../".repeat(depth)}`);
	return reply.headers(pageHeaders).send(html);
}
