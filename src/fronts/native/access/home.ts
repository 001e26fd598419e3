/** The page at the server's own address: whether this browser is signed in, and the way out. */

import { pageKeyHeader, pageKeyItem } from "../../../protocol/page-key.ts";
import type { NativeApp } from "../options.ts";
import { escaped, pageScript, sendPage } from "./page.ts";

/** All addresses are relative: we may be below a path. */
const SCRIPT = pageScript(
	`const item=${JSON.stringify(pageKeyItem)},headers={${JSON.stringify(pageKeyHeader)}:localStorage.getItem(item)??""};
const show=(id)=>{document.getElementById(id).hidden=false};
fetch("v1/info",{headers}).then(({ok})=>show(ok?"in":"out"),()=>show("away"));
document.querySelector("button").onclick=async()=>{
await fetch("v1/signout",{method:"POST",headers});
localStorage.removeItem(item);
location.reload();
};`,
	{ mayConnect: true },
);

export function addHome(app: NativeApp, basePath: string): void {
	app.get(
		"/",
		{
			config: {
				policy: "public",
				operation: "showHome",
				summary: "The page of the server itself",
				answers: { 200: "text/html" },
			},
		},
		async (request, reply) =>
			sendPage(reply, {
				title: "Hawser",
				body:
					`<p>The server at <b>${escaped(`${request.headers.host}${basePath}`)}</b>.</p>` +
					'<div id="in" hidden><p>This browser is signed in. Pages of this address may use its sessions from here, ' +
					"without a token.</p><button>Sign out</button></div>" +
					'<p id="out" hidden>This browser is not signed in. <code>hawser signin-link</code> prints a link that does it.</p>' +
					'<p id="away" hidden>The server does not answer.</p>' +
					"<noscript>This browser must run scripts to use the server.</noscript>",
				script: SCRIPT,
			}),
	);
}
