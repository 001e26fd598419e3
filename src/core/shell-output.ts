/** What a command wrote, as text: without the marks of our hooks, and without what its terminal made of newlines. */

/** Several lines that ran one after the other have marks each; in bash with what the user lets it write before each. */
const OWN_MARKS =
	/(?:\u001b\](?:133;O;h=|633;E;[^\u001b]{0,4096};)[0-9a-f]{24}\u001b\\.{0,4096}?)?\u001b\]133;C;t=1?;h=[0-9a-f]{24}\u001b\\/gs;
/** What fish says to its terminal before it lets a command write: no pastes in brackets any more, a title, no colours. */
const PROLOGUE =
	/^\u001b\[\?2004l(?:\u001b\[>4;0m|\u001b>)*(?:\u001b\][02];[^\u0007\u001b]*\u0007)?(?:\u001b\[30m\u001b\(B\u001b\[m)?\r?/;

export function shellText(bytes: Uint8Array): string {
	const text = new TextDecoder().decode(bytes);
	return text.replace(OWN_MARKS, "").replace(PROLOGUE, "").replaceAll("\r\n", "\n");
}
