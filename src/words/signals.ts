/** Names of the signals that can be sent to a program, without `SIG`. */
export const signalNames: ReadonlySet<string> = new Set(
	(
		"HUP INT QUIT ILL TRAP ABRT IOT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM CHLD STKFLT CONT STOP TSTP TTIN " +
		"TTOU URG XCPU XFSZ VTALRM PROF WINCH IO POLL PWR SYS"
	).split(" "),
);
