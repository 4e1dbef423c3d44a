export { ThreadAgent } from "./agent.js";
export { ThreadError } from "./error.js";
export type ThreadAgentConfig = import("./agent.js").ThreadAgentConfig;
export type ThreadRunParameters = import("./agent.js").ThreadRunParameters;
export type Run = import("./agent.js").Run;
export type Cursor = import("./cursors.js").Cursor;
export type Cursors = import("./cursors.js").Cursors;
export type Reconnection = import("./stream.js").Reconnection;
export { memoryCursors, sessionCursors } from "./cursors.js";
