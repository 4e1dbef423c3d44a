// Package transfer copies event streams into a log, and threads of a log to files and back.
//
// Import reads a capture, checks it, and appends it as one stream. A Stream does the same
// for events while they arrive. Both compare what the log has of the stream with what they
// are given and append only the rest, so an import can be repeated and a part of one can be
// completed.
//
// Export writes a thread to a file in the portable form, with its seals, and Import reads such a
// file back. OpenThread opens one to compare it with a log.
//
// The package knows which thread an event belongs to. It must not know how a log stores
// entries or how conversations are computed from them.
package transfer
