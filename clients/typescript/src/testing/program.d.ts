/// <reference types="node" preserve="true" />
/**
 * Returns the path of the program: P20EXPORT_BINARY, or that of the package for this system.
 * @returns {string}
 */
export function binary(): string;
/**
 * Starts a server of the program on a free port of 127.0.0.1, and waits until it listens.
 * @param {string[]} args
 * @param {NodeJS.Signals} stop The signal that ends it.
 * @returns {Promise<Server>}
 */
export function start(args: string[], stop: NodeJS.Signals): Promise<Server>;
/**
 * A server at an address, without a slash at its end. close stops it and waits until it has
 * ended, and so does `await using`. It also ends when this process exits.
 */
export type Server = {
    url: string;
    close: () => Promise<void>;
    [Symbol.asyncDispose]: () => Promise<void>;
};
