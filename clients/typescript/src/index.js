export { ThreadAgent } from "./agent.js";
export { memoryCursors, sessionCursors } from "./cursors.js";
export { ThreadError } from "./error.js";

/** @typedef {import("./agent.js").ThreadAgentConfig} ThreadAgentConfig */
/** @typedef {import("./agent.js").ThreadRunParameters} ThreadRunParameters */
/** @typedef {import("./agent.js").Run} Run */
/** @typedef {import("./cursors.js").Cursor} Cursor */
/** @typedef {import("./cursors.js").Cursors} Cursors */
/** @typedef {import("./stream.js").Reconnection} Reconnection */
