/** The app's state, shared by all pages. */

import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals-core";
import {
	type Client,
	dismissalKey,
	groupSessions,
	type NeedContext,
	type SessionInfo,
	type SessionNeed,
	withPendingStarts,
} from "hawser/client";
import { Announcer } from "./announcer.ts";
import { Answers } from "./answers.ts";
import { ApprovalDecisions } from "./approvals.ts";
import { Auth } from "./auth.ts";
import { ClickGuard } from "./click-guard.ts";
import { Clock } from "./clock.ts";
import { Dialogs } from "./dialogs.ts";
import { OutputSearch } from "./output-search.ts";
import { noFilter } from "./route.ts";
import { showsSeconds } from "./seconds.ts";
import { SecretPage } from "./secret-request.ts";
import { SessionList } from "./session-list.ts";
import { SettingsStore, type Storage } from "./settings.ts";
import { WorkspacePage } from "./workspace.ts";

export type App = {
	readonly client: Client;
	readonly auth: Auth;
	readonly settings: SettingsStore;
	readonly clock: Clock;
	readonly sessions: SessionList;
	readonly answers: Answers;
	readonly decisions: ApprovalDecisions;
	readonly dialogs: Dialogs;
	readonly announcer: Announcer;
	/** Guards against clicks on rows that just moved. */
	readonly aim: ClickGuard;
	readonly workspace: WorkspacePage;
	readonly outputSearch: OutputSearch;
	readonly secret: SecretPage;
	/** Everything besides the session that determines its need. */
	readonly circumstances: ReadonlySignal<NeedContext>;
	/** All sessions and pending starts that need attention, regardless of the filter. */
	readonly needing: ReadonlySignal<readonly SessionNeed[]>;
	/** Those of them that exist as sessions. */
	readonly openable: ReadonlySignal<readonly SessionNeed[]>;
	/** The row that shortcuts act on. */
	readonly selected: Signal<string | undefined>;
	/** Marks a session's need as seen. */
	dismiss(session: SessionInfo): void;
};

export function createApp(client: Client, storage: Storage): App {
	const auth = new Auth(client);
	const settings = new SettingsStore(storage);
	const clock = new Clock();
	const sessions = new SessionList(client, () => auth.onUnauthorized());
	const answers = new Answers(client, {
		onPrompt: (id) => sessions.answered(id),
		onDialog: (id, episode) => sessions.dialogAnswered(id, episode),
	});
	const dismissed = computed(() => new Set(settings.current.value.dismissed));
	const circumstances = computed(() => ({
		now: clock.now.value,
		dismissed: dismissed.value,
		held: sessions.held.value,
	}));
	const needing = computed(() => {
		const all = withPendingStarts(sessions.all.value, sessions.held.value);
		return groupSessions(all, noFilter, circumstances.value).needing;
	});
	const aim = new ClickGuard();
	const byKey = computed(() => needing.value.map(({ session, need }) => `${session.id} ${need.kind} ${need.since}`));
	effect(() => aim.change(byKey.value.join()));
	const openable = computed(() => needing.value.filter(({ session }) => sessions.all.value.has(session.id)));
	// Follow sessions only while signed in.
	effect(() => {
		if (auth.state.value.kind === "signed-in") sessions.follow();
		else sessions.stop();
	});
	effect(() => {
		const isCut = sessions.connection.value.kind === "disconnected";
		clock.setFast(isCut || showsSeconds(sessions.all.value.values(), needing.value, clock.now.value));
	});
	let wasCut = false;
	effect(() => {
		const { kind } = sessions.connection.value;
		if (wasCut && kind === "live") void auth.checkVersion();
		wasCut = kind === "disconnected";
	});
	return {
		client,
		auth,
		settings,
		clock,
		sessions,
		answers,
		decisions: new ApprovalDecisions(client, (id) => sessions.decided(id)),
		dialogs: new Dialogs(),
		announcer: new Announcer(),
		aim,
		workspace: new WorkspacePage(client, () => auth.isAdmin),
		outputSearch: new OutputSearch(client),
		secret: new SecretPage(client),
		circumstances,
		needing,
		openable,
		selected: signal<string | undefined>(undefined),
		dismiss(session) {
			settings.change({ dismissed: [...settings.current.peek().dismissed, dismissalKey(session)] });
		},
	};
}
