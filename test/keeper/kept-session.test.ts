import { sessionContract } from "../contract/session.ts";
import { KeeperSite } from "../helpers/keepers.ts";

sessionContract("in a keeper", async () => {
	const { keepers } = await (await KeeperSite.create()).open();
	return (start) => keepers.start(start);
});
