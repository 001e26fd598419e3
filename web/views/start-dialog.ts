/** The dialog that starts a session. */

import { signal } from "@preact/signals-core";
import { HawserError } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { go } from "../router.ts";
import type { App } from "../state/app.ts";
import { requestOf, type SandboxChoice, type StartForm, sandboxes, start } from "../state/start-form.ts";
import { modal } from "./modal.ts";
import { words } from "./text.ts";

const attempt = signal<{ readonly isBusy: boolean; readonly problem?: string }>({ isBusy: false });

const sandboxNames: Readonly<Record<SandboxChoice, string>> = {
	none: "None",
	"read-only": "Read only, no network",
	"workspace-write": "Writes below its directory, no network",
};

export function startDialog(app: App, form: StartForm): TemplateResult {
	const { isBusy, problem } = attempt.value;
	const close = () => {
		attempt.value = { isBusy: false };
		app.dialogs.close();
	};
	const workspaces = workspacesOf(app);
	return modal({
		title: "Start a session",
		close,
		body: html`<form @submit=${(event: SubmitEvent) => submit(app, event, close)}>
			<div class="bd">
				<label class="lab"
					>Command<span class="field"
						><input
							class="mono"
							name="command"
							required
							data-focus
							autocomplete="off"
							spellcheck="false"
							autocapitalize="off"
							.value=${form.command}
							aria-describedby="start-problem" /></span
				></label>
				<div class="two">
					<label class="lab"
						>Directory<span class="field"
							><input
								class="mono"
								name="cwd"
								autocomplete="off"
								spellcheck="false"
								placeholder="server default"
								.value=${form.cwd} /></span
					></label>
					<label class="lab"
						>Name (optional)<span class="field"
							><input name="name" autocomplete="off" maxlength="64" .value=${form.name} /></span
					></label>
				</div>
				<div class="two">
					<fieldset class="lab">
						<legend>Mode</legend>
						<span class="seg choice">
							<label><input type="radio" name="mode" value="pty" ?checked=${form.mode === "pty"} />Terminal</label>
							<label><input type="radio" name="mode" value="pipe" ?checked=${form.mode === "pipe"} />Pipes</label>
						</span>
					</fieldset>
					<label class="lab"
						>Sandbox<span class="field"
							><select name="sandbox">
								${sandboxes.map((name) => html`<option value=${name} ?selected=${name === form.sandbox}>${sandboxNames[name]}</option>`)}
							</select></span
					></label>
				</div>
				${
					workspaces.length > 1
						? html`<label class="lab"
								>Workspace<span class="field"
									><select name="workspace">
										${workspaces.map((id) => html`<option value=${id} ?selected=${id === form.workspace}>${id}</option>`)}
									</select></span
							></label>`
						: nothing
				}
				<details>
					<summary>More options</summary>
					<div class="more-fields">
						<label class="lab"
							>Environment, one KEY=value per line<span class="field area"
								><textarea class="mono" name="env" rows="3" spellcheck="false" placeholder="KEY=value"></textarea></span
						></label>
						<div class="two">
							<label class="lab"
								>Labels<span class="field"
									><input class="mono" name="labels" autocomplete="off" placeholder="kind=agent" .value=${form.labels} /></span
							></label>
							<label class="lab"
								>Time limit (minutes)<span class="field"
									><input name="endAfter" inputmode="decimal" autocomplete="off" placeholder="never" /></span
							></label>
						</div>
						<div class="two">
							<label class="lab"
								>Columns and rows<span class="field"
									><input
										name="size"
										autocomplete="off"
										pattern="\\s*[0-9]+[^0-9]+[0-9]+\\s*"
										title="Two numbers, such as 120 x 40"
										placeholder="80 x 24" /></span
							></label>
							<label class="lab"
								>Output kept on disk, in MiB<span class="field"
									><input name="keep" inputmode="decimal" autocomplete="off" placeholder="64" /></span
							></label>
						</div>
					</div>
				</details>
				<p class="problem" id="start-problem" role="alert">${problem ?? nothing}</p>
			</div>
			<div class="ft">
				<span class="faint grow small">${words.goesOn}</span>
				<button class="btn" type="button" @click=${close}>Cancel</button>
				<button class="btn primary" type="submit" ?disabled=${isBusy}>Start<kbd>Enter</kbd></button>
			</div>
		</form>`,
	});
}

/** Workspaces where the caller may start sessions, the default one first. */
function workspacesOf(app: App): string[] {
	const state = app.auth.state.value;
	const own =
		state.kind === "signed-in" ? state.me.workspaces.filter(({ right }) => right === "manage").map(({ id }) => id) : [];
	const seen = [...app.sessions.all.value.values()].map(({ workspace }) => workspace);
	const known = new Set([...own, ...seen.filter((id) => app.auth.may("manage", id))]);
	if (app.auth.may("manage", "default")) known.add("default");
	return [...known].sort((a, b) => Number(b === "default") - Number(a === "default") || (a < b ? -1 : 1));
}

async function submit(app: App, event: SubmitEvent, close: () => void): Promise<void> {
	event.preventDefault();
	const data = new FormData(event.currentTarget as HTMLFormElement);
	const text = (name: keyof StartForm) => String(data.get(name) ?? "");
	attempt.value = { isBusy: true };
	try {
		const started = await start(
			app.client,
			requestOf({
				command: text("command"),
				cwd: text("cwd"),
				name: text("name"),
				mode: text("mode") === "pipe" ? "pipe" : "pty",
				workspace: text("workspace"),
				sandbox: sandboxes.find((name) => name === text("sandbox")) ?? "none",
				env: text("env"),
				labels: text("labels"),
				endAfter: text("endAfter"),
				size: text("size"),
				keep: text("keep"),
			}),
		);
		app.sessions.know(started.snapshot);
		close();
		go({ view: "session", id: started.id, at: undefined });
	} catch (error) {
		if (!(error instanceof HawserError)) throw error;
		attempt.value = { isBusy: false, problem: words.startFailed(error.message) };
	}
}
