export { toMatchTrace } from "./trace.js";
export type Server = import("./program.js").Server;
export type Recording = import("./servers.js").Recording;
export type ReplayOptions = import("./servers.js").ReplayOptions;
export { record, replay } from "./servers.js";
