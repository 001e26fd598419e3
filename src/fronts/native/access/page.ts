/** Our few pages for people: each is whole in itself, and its policy names by its hash everything that it may run. */

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";

const STYLE = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:Canvas;color:CanvasText}
main{max-width:26rem;margin:1rem;padding:2rem;border:1px solid color-mix(in srgb,CanvasText 20%,Canvas);border-radius:.75rem}
h1{margin:0 0 1rem;font-size:1.25rem}
p{margin:0 0 1rem}
b,code{overflow-wrap:anywhere}
code{font-family:ui-monospace,monospace}
button{font:inherit;padding:.5rem 1rem;border:0;border-radius:.5rem;background:#0b57d0;color:#fff;cursor:pointer}
button:focus-visible{outline:3px solid #7cacf8;outline-offset:2px}`;
const STYLE_SOURCE = sourceOf(STYLE);

/** A script, which may reach nothing. */
export type PageScript = { readonly text: string; readonly source: string };

export function pageScript(text: string): PageScript {
	return { text, source: sourceOf(text) };
}

export type Page = {
	readonly title: string;
	/** As HTML, in which everything that is not ours is `escaped`. */
	readonly body: string;
	readonly script?: PageScript;
	/** For the script, as `data-key` of the page's only `main`. */
	readonly key?: string;
};

export function sendPage(reply: FastifyReply, { title, body, script, key }: Page): FastifyReply {
	const policy = [
		"default-src 'none'",
		`style-src ${STYLE_SOURCE}`,
		...(script ? [`script-src ${script.source}`] : []),
		"base-uri 'none'",
		"form-action 'self'",
		"frame-ancestors 'none'",
	];
	const data = key === undefined ? "" : ` data-key="${escaped(key)}"`;
	return (
		reply
			.type("text/html; charset=utf-8")
			.header("cache-control", "no-store")
			.header("content-security-policy", policy.join("; "))
			// With no-referrer a form would be sent with the origin "null", which is nobody's.
			.header("referrer-policy", "same-origin")
			.send(
				`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
					`<title>${title}</title><style>${STYLE}</style></head><body><main${data}><h1>${title}</h1>${body}</main>` +
					`${script ? `<script>${script.text}</script>` : ""}</body></html>\n`,
			)
	);
}

/** Text as it may stand in HTML, between tags and in quotes. */
export function escaped(text: string): string {
	return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function sourceOf(text: string): string {
	return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
