/** The sign-in page: the user pastes a token. Replaces any page that was requested. */

import { signal } from "@preact/signals-core";
import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import type { SignInProblem } from "../state/auth.ts";
import { mark } from "./icons.ts";
import { words } from "./text.ts";

const signInState = signal<"none" | "busy" | SignInProblem>("none");

export function signInPage(app: App, was: "none" | "guest" | "user"): TemplateResult {
	if (was === "guest") return guestEnded();
	const said = signInState.value;
	const problem = said === "none" || said === "busy" ? undefined : words.signIn[said];
	return html`<main class="center" id="content">
		<form class="card" @submit=${(event: SubmitEvent) => submit(app, event)}>
			<div class="brand large">${mark(26)}hawser</div>
			<h1>${words.signIn.title(location.host)}</h1>
			${was === "user" ? html`<p class="notice" role="status">${words.signedOut.join(" ")}</p>` : nothing}
			<p class="dim">${words.signIn.how}</p>
			<label class="lab"
				>Token
				<span class="field tall"
					><input
						class="mono"
						name="token"
						type="password"
						autocomplete="off"
						spellcheck="false"
						placeholder="hwt_…"
						required
						aria-describedby="sign-in-problem"
						aria-invalid=${problem === undefined ? "false" : "true"}
				/></span>
			</label>
			<p class="problem" id="sign-in-problem" role="alert">${problem ?? nothing}</p>
			<button class="btn primary wide" type="submit" ?disabled=${said === "busy"}>Sign in</button>
			<p class="faint small aside">${words.signIn.noLink}</p>
			<div class="code"><span><span class="faint">$</span> ${words.signIn.command}</span></div>
		</form>
	</main>`;
}

/** A guest whose link has ended has no token to paste. */
function guestEnded(): TemplateResult {
	const [what, more] = words.guestEnded;
	return html`<main class="center" id="content">
		<div class="card">
			<div class="brand large">${mark(26)}hawser</div>
			<h1>${what}</h1>
			<p class="dim">${more}</p>
		</div>
	</main>`;
}

async function submit(app: App, event: SubmitEvent): Promise<void> {
	event.preventDefault();
	const form = event.currentTarget as HTMLFormElement;
	const token = String(new FormData(form).get("token") ?? "").trim();
	if (token === "") return;
	signInState.value = "busy";
	signInState.value = (await app.auth.signIn({ token })) ?? "none";
	if (signInState.value !== "none") form.querySelector("input")?.focus();
}
