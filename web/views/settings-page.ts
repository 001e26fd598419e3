/** Settings of this browser, and signing out. */

import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { fontSizes, type Settings, type Theme, themes } from "../state/settings.ts";
import { nameOf, words } from "./text.ts";

export const themeNames: Readonly<Record<Theme, string>> = {
	system: "System",
	light: "Light",
	dark: "Dark",
	dusk: "Dusk",
	paper: "Paper",
	contrast: "High contrast",
};

export function settingsPage(app: App): TemplateResult {
	const settings = app.settings.current.value;
	const state = app.auth.state.value;
	return html`<main class="main" id="content">
		<header class="bar"><h1>Settings</h1></header>
		<div class="scroll page">
			<section>
				<h2>Appearance</h2>
				<fieldset class="themes">
					<legend class="dim">Theme</legend>
					${themes.map(
						(theme) => html`<label class="swatch" data-theme=${theme === "system" ? nothing : theme}>
							<input
								type="radio"
								name="theme"
								value=${theme}
								.checked=${settings.theme === theme}
								@change=${() => app.settings.change({ theme })}
							/><span class="sample" aria-hidden="true"><i></i><i></i><i></i></span>${themeNames[theme]}
						</label>`,
					)}
				</fieldset>
				<label class="line"
					><span class="grow">Terminal font size (pixels)</span
					><span class="field number"
						><input
							type="number"
							min=${fontSizes.least}
							max=${fontSizes.most}
							.value=${String(settings.fontSize)}
							@change=${(event: Event) =>
								app.settings.change({ fontSize: Number((event.currentTarget as HTMLInputElement).value) })} /></span
				></label>
			</section>
			<section>
				<h2>Notifications</h2>
				${notifications(app, settings)}
			</section>
			<section>
				<h2>Keyboard and accessibility</h2>
				${toggle(app, "hasLetterKeys", "Single-letter shortcuts")}
				${toggle(app, "screenReaderMode", "Screen reader support in terminals (slower)")}
			</section>
			<section>
				<h2>Clipboard</h2>
				${clipboard(app, settings)}
			</section>
			<section>
				<h2>This browser</h2>
				<p class="dim">
					${state.kind === "signed-in" ? `Signed in as ${state.me.name} on ${state.me.server.name}, which runs Hawser ${state.me.server.version}.` : nothing}
				</p>
				<p><button class="btn" @click=${() => app.auth.signOut()}>Sign out</button></p>
			</section>
		</div>
	</main>`;
}

type Switch = { [K in keyof Settings]: Settings[K] extends boolean ? K : never }[keyof Settings];

function toggle(app: App, key: Switch, sentence: string): TemplateResult {
	return html`<label class="line"
		><span class="grow">${sentence}</span
		><input
			type="checkbox"
			.checked=${app.settings.current.value[key]}
			@change=${(event: Event) => app.settings.change({ [key]: (event.currentTarget as HTMLInputElement).checked })}
	/></label>`;
}

/** Browsers allow notifications only over HTTPS or from localhost, and with permission. */
function notifications(app: App, { notifies }: Settings): TemplateResult {
	if (!isSecureContext || !("Notification" in window) || !("serviceWorker" in navigator)) {
		return html`<label class="line"
			><span class="grow dim">${words.notifications.needsHttps}</span><input type="checkbox" disabled
		/></label>`;
	}
	const change = async (event: Event) => {
		const box = event.currentTarget as HTMLInputElement;
		const isWanted = box.checked && (await Notification.requestPermission()) === "granted";
		box.checked = isWanted;
		app.settings.change({ notifies: isWanted });
	};
	return html`<label class="line"
			><span class="grow">Notify when a session needs input or ends</span
			><input type="checkbox" .checked=${notifies} @change=${change}
		/></label>
		${Notification.permission === "denied" ? html`<p class="faint">${words.notifications.denied}</p>` : nothing}
		${notifies ? toggle(app, "notifiesQuestion", "Include the question (may show on the lock screen)") : nothing}`;
}

function clipboard(app: App, { clipboardSessions }: Settings): TemplateResult {
	if (clipboardSessions.length === 0) return html`<p class="dim">${words.clipboard.none}</p>`;
	const forget = (id: string) =>
		app.settings.change({ clipboardSessions: clipboardSessions.filter((other) => other !== id) });
	return html`<p class="dim">${words.clipboard.some}</p>
		<ul class="lines">
			${clipboardSessions.map((id) => {
				const session = app.sessions.all.value.get(id);
				return html`<li>
					<span class="name grow ell">${session ? nameOf(session) : id}</span>
					<button class="btn quiet danger" aria-label="Forbid ${session ? nameOf(session) : id}" @click=${() => forget(id)}>
						Forbid
					</button>
				</li>`;
			})}
		</ul>`;
}
