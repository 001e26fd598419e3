/** Everything that the pages show and do, put together once. */

import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals-core";
import {
	type Circumstances,
	type Client,
	dismissalOf,
	grouped,
	type Listed,
	type Needing,
	withAwaited,
} from "hawser/client";
import { Aim } from "./aim.ts";
import { Announcer } from "./announcer.ts";
import { Answers } from "./answers.ts";
import { Decisions } from "./approvals.ts";
import { Auth } from "./auth.ts";
import { Clock } from "./clock.ts";
import { Dialogs } from "./dialogs.ts";
import { OutputSearch } from "./output-search.ts";
import { everything } from "./route.ts";
import { areSecondsShown } from "./seconds.ts";
import { SecretPage } from "./secret-request.ts";
import { SessionList } from "./sessions.ts";
import { SettingsStore, type Storage } from "./settings.ts";
import { WorkspacePage } from "./workspace.ts";

export type App = {
	readonly client: Client;
	readonly auth: Auth;
	readonly settings: SettingsStore;
	readonly clock: Clock;
	readonly sessions: SessionList;
	readonly answers: Answers;
	readonly decisions: Decisions;
	readonly dialogs: Dialogs;
	readonly announcer: Announcer;
	/** Of the pointer, on those that need somebody. */
	readonly aim: Aim;
	readonly workspace: WorkspacePage;
	readonly outputSearch: OutputSearch;
	readonly secret: SecretPage;
	/** What besides a session itself decides whether it needs somebody. */
	readonly circumstances: ReadonlySignal<Circumstances>;
	/** Those that need somebody, of all sessions and of those that wait to be started; whatever filter there is. */
	readonly needing: ReadonlySignal<readonly Needing[]>;
	/** Those of them that there are already. */
	readonly openable: ReadonlySignal<readonly Needing[]>;
	/** The row that keys act on. */
	readonly selected: Signal<string | undefined>;
	/** Somebody has seen what a session needs: it does not need them for that any more. */
	dismiss(session: Listed): void;
};

export function createApp(client: Client, storage: Storage): App {
	const auth = new Auth(client);
	const settings = new SettingsStore(storage);
	const clock = new Clock();
	const sessions = new SessionList(client, () => auth.wasRefused());
	const answers = new Answers(client, (id) => sessions.answered(id));
	const dismissed = computed(() => new Set(settings.current.value.dismissed));
	const circumstances = computed(() => ({
		now: clock.now.value,
		dismissed: dismissed.value,
		held: sessions.held.value,
	}));
	const needing = computed(() => {
		const all = withAwaited(sessions.all.value, sessions.held.value);
		return grouped(all, everything, circumstances.value).needing;
	});
	const aim = new Aim();
	const byKey = computed(() => needing.value.map(({ session, need }) => `${session.id} ${need.kind} ${need.since}`));
	effect(() => aim.change(byKey.value.join()));
	const openable = computed(() => needing.value.filter(({ session }) => sessions.all.value.has(session.id)));
	// Only who is signed in has sessions to follow.
	effect(() => {
		if (auth.state.value.kind === "in") sessions.follow();
		else sessions.stop();
	});
	effect(() => {
		const isCut = sessions.connection.value.kind === "cut";
		clock.hurry(isCut || areSecondsShown(sessions.all.value.values(), needing.value, clock.now.value));
	});
	let wasCut = false;
	effect(() => {
		const { kind } = sessions.connection.value;
		if (wasCut && kind === "live") void auth.lookAtVersion();
		wasCut = kind === "cut";
	});
	return {
		client,
		auth,
		settings,
		clock,
		sessions,
		answers,
		decisions: new Decisions(client, (id) => sessions.decided(id)),
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
			settings.change({ dismissed: [...settings.current.peek().dismissed, dismissalOf(session)] });
		},
	};
}
