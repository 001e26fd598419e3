/** Shows a session in xterm.js. Reload the page, or open it twice: it is the same shell. */

import { connect, ReplyRanges } from "/hawser/client/index.js";
import { Terminal } from "/xterm.mjs";

async function askForTicket() {
	const response = await fetch("/ticket", { method: "POST" });
	if (!response.ok) throw new Error(`the backend created no ticket: ${response.status}`);
	return response.json();
}

const { url, id } = await askForTicket();
// A ticket is valid for one connection. After a lost connection the SDK requests the next one.
const ticket = async () => (await askForTicket()).ticket;
const attachment = connect({ url }).sessions.at(id).attach({ ticket, replies: true });

const terminal = new Terminal({ cols: 80, rows: 24 });
terminal.open(document.body);
terminal.focus();
terminal.onData((text) => attachment.write(text));

// Exactly one attached terminal answers the program's queries: this one, in the ranges that the server names.
const ranges = new ReplyRanges();
let isOurTurn = false;
for (const prefix of ["", "?", ">"]) {
	for (const final of ["c", "n"]) terminal.parser.registerCsiHandler({ prefix, final }, () => !isOurTurn);
	terminal.parser.registerCsiHandler({ prefix, intermediates: "$", final: "p" }, () => !isOurTurn);
}
terminal.parser.registerDcsHandler({ intermediates: "$", final: "q" }, () => !isOurTurn);

for await (const event of attachment) {
	if (event.kind === "replies") ranges.change(event);
	if (event.kind === "connection" && event.state === "connected") ranges.reset();
	if (event.kind === "resized") terminal.resize(event.cols, event.rows);
	if (event.kind === "output") {
		for (const { bytes, mine } of ranges.split(event.offset, event.bytes)) {
			isOurTurn = mine;
			// Waiting until it is rendered keeps a flood of output from piling up in the page.
			await new Promise((drawn) => terminal.write(bytes, drawn));
		}
	}
	if (event.kind === "exited") terminal.write("\r\nThe shell exited.\r\n");
}
