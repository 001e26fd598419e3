/**
 * HTML pages of the server itself. Each is self-contained, and its policy allows only its own style and script, by
 * hash.
 */

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";

/** The look of the web UI (colors, card) without its files. */
const STYLE = `:root{color-scheme:dark;--bg:#0f1214;--text:#e7ebed;--text-2:#aab4bb;--accent:#5fc9b8;--ink:#06211d;--line:#2d353a;--term:#0b0e10;font:400 13px/1.45 -apple-system,BlinkMacSystemFont,"Segoe UI",Inter,Roboto,"Noto Sans",system-ui,sans-serif}
@media (prefers-color-scheme:light){:root{color-scheme:light;--bg:#f5f6f4;--text:#161a1c;--text-2:#485258;--accent:#0a6b62;--ink:#fff;--line:#d2d8d6;--term:#fbfbf9}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--bg);color:var(--text)}
main{box-sizing:border-box;width:380px;max-width:calc(100vw - 32px)}
.brand{display:flex;align-items:center;gap:8px;margin:0 0 24px;font-size:18px;font-weight:650;letter-spacing:-.01em}
.brand svg{color:var(--accent)}
h1{margin:0;font-size:20px;font-weight:600;letter-spacing:-.01em}
p{margin:6px 0 0;color:var(--text-2)}
b{color:var(--text);font-weight:600}
b,code{overflow-wrap:anywhere}
code{padding:1px 5px;border:1px solid var(--line);border-radius:4px;background:var(--term);font:12px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
button{width:100%;min-height:36px;margin-top:20px;border:0;border-radius:6px;background:var(--accent);color:var(--ink);font:inherit;font-weight:600;cursor:pointer}
button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (pointer:coarse){button{min-height:44px}}`;
const BRAND =
	'<div class="brand"><svg width="26" height="26" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" aria-hidden="true">' +
	'<circle cx="8" cy="7.5" r="4.5"/><path d="M3.6 9.4C4 14.6 8.2 17 18 16.6"/><path d="M12.4 9.2c.5 2.6 2.3 4.2 5.6 4.2" opacity=".55"/></svg>hawser</div>';
const STYLE_SOURCE = sourceOf(STYLE);

/** A script and its hash for the policy. */
type PageScript = { readonly text: string; readonly source: string };

export function pageScript(text: string): PageScript {
	return { text, source: sourceOf(text) };
}

type Page = {
	readonly title: string;
	/** HTML. Foreign text must be `escaped`. */
	readonly body: string;
	readonly script?: PageScript;
	/** Passed to the script as `data-key` of `main`. */
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
			// With no-referrer, forms would be sent with the origin "null".
			.header("referrer-policy", "same-origin")
			.send(
				`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
					`<title>${title}</title><style>${STYLE}</style></head><body><main${data}>${BRAND}<h1>${title}</h1>${body}</main>` +
					`${script ? `<script>${script.text}</script>` : ""}</body></html>\n`,
			)
	);
}

/** Escapes text for HTML content and attribute values. */
export function escaped(text: string): string {
	return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function sourceOf(text: string): string {
	return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
