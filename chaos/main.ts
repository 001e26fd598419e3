/** `npm run chaos`: breaks a real server in every way it knows and checks that no promise breaks. */

import { parseArgs } from "node:util";
import { type CampaignResult, campaign } from "./campaign.ts";
import { type FaultClass, faultClasses } from "./faults.ts";

const USAGE = `Usage: npm run chaos -- [options]

Runs the built server with sessions whose programs record every byte that they
write and read, and with readers of every kind, while faults happen. It fails
when a reader or a program got other bytes, or when an end was not true.

  --seed N       the faults and the traffic; chosen and printed when left out
  --class NAME   only faults of this class; repeat it for several. Without it,
                 one run with every class at once
  --each         one run for every class, and one with all of them
  --seconds N    how long faults happen in one run (default 60)
  --sessions N   sessions at the same time (default 4)
  --help         this text

Classes: ${faultClasses.join(", ")}

  npm run chaos -- --seed 7 --class keeper-stop --seconds 20

It needs root, to mount a small disk, and the Debian package faketime.
`;

const { values } = parseArgs({
	options: {
		seed: { type: "string" },
		class: { type: "string", multiple: true },
		each: { type: "boolean", default: false },
		seconds: { type: "string", default: "60" },
		sessions: { type: "string", default: "4" },
		help: { type: "boolean", short: "h", default: false },
	},
});

if (values.help) process.stdout.write(USAGE);
else await main();

async function main(): Promise<void> {
	const seed = values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", values.seed);
	const seconds = wholeNumber("seconds", values.seconds);
	const sessions = wholeNumber("sessions", values.sessions);
	const chosen = (values.class ?? []).map(classNamed);
	const all = chosen.length > 0 ? chosen : faultClasses;
	const runs = values.each ? [...all.map((one) => [one]), all] : [all];
	let failed = 0;
	for (const classes of runs) {
		const name = classes.length > 1 ? "all at once" : String(classes[0]);
		console.log(`${name}: seed ${seed}, ${seconds} s, ${sessions} sessions`);
		const say = (sentence: string) => process.stderr.isTTY && console.error(`  ${sentence}`);
		const result = await campaign({ root: process.cwd(), seed, seconds, sessions, classes, say });
		print(result);
		if (result.problems.length > 0) failed++;
	}
	if (failed === 0) return;
	console.log(`${failed} of ${runs.length} runs broke a promise; repeat one with --seed ${seed} and its --class`);
	process.exitCode = 1;
}

function print({ faults, sessions, wrote, compared, sent, problems }: CampaignResult): void {
	const counts = Object.entries(faults).map(([name, count]) => `${count} × ${name}`);
	console.log(`  faults: ${counts.join(", ") || "none"}; ${sessions} sessions`);
	console.log(`  ${wrote} bytes written by programs, ${compared} compared by readers, ${sent} bytes of input`);
	for (const problem of problems) console.log(`  BROKEN ${problem}`);
	console.log(problems.length === 0 ? "  every promise was kept" : `  ${problems.length} promises were broken`);
}

function classNamed(name: string): FaultClass {
	const found = faultClasses.find((one) => one === name);
	if (found === undefined) throw new Error(`no class "${name}"; there are ${faultClasses.join(", ")}`);
	return found;
}

function wholeNumber(name: string, text: string): number {
	if (!/^\d+$/.test(text)) throw new Error(`--${name} takes a whole number, not "${text}"`);
	return Number(text);
}
