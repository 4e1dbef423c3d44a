export { record, replay } from "./servers.js";
export { toMatchTrace } from "./trace.js";

/** @typedef {import("./program.js").Server} Server */
/** @typedef {import("./servers.js").Recording} Recording */
/** @typedef {import("./servers.js").ReplayOptions} ReplayOptions */
