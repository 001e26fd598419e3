/** Serves the web UI, built from `web/`. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SessionError } from "../../core/errors.ts";
import { bearer } from "../../http/caller.ts";
import { answerErrors } from "../../http/errors.ts";
import type { Front, ServerContext } from "../../http/front.ts";
import { type BuiltFile, readBuilt } from "./files.ts";

type WebFrontOptions = {
	/** The folder of the built files. */
	readonly directory: string;
};

/** Paths of the UI. All serve the same page. `/signin` is not among them: the server renders it. */
const pages = ["/", "/grid", "/settings", "/s/:id", "/s/:id/play", "/w/:workspace", "/secret/:id"] as const;

/**
 * Allows scripts, styles and connections of our origin only. Only lit-html may make markup from text, and only our
 * worker's URL is trusted.
 */
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

/** File names in `/assets` contain a hash of their content. */
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
		register(app: FastifyInstance, hosting: ServerContext): void {
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

/**
 * Serves the page. Its links are relative, and a proxy may serve us under an unknown path, so they are prefixed with
 * `../` for the depth of the request.
 */
async function sendPage(request: FastifyRequest, reply: FastifyReply, directory: string): Promise<FastifyReply> {
	const file = await readBuilt(directory, "index.html", "");
	if (!file) throw new SessionError("not_found", "the web UI is not built; run npm run build");
	const depth = (request.url.split("?", 1)[0] ?? "/").split("/").length - 2;
	const html = file.content.toString().replaceAll('="./', `="${depth === 0 ? "./" : "../".repeat(depth)}`);
	return reply.headers(pageHeaders).send(html);
}
