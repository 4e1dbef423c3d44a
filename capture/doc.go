// Package capture stores the bytes of a response exactly as they arrived, and
// reads them back frame by frame.
//
// A capture is a directory. It contains the response body, the request body if it
// is known, the arrival time of every network read, and a manifest (capture.json)
// with the size and digest of each file. The manifest is written last: a directory
// without a manifest is an unfinished capture, and is refused. A plain file or
// standard input can be read in place of a capture directory, but has no arrival
// times.
//
// A directory that is being written has a claim (capture.json.tmp). It is locked, and
// has the head of the manifest: what is known before the first byte. If the program is
// killed, Recover closes what arrived into a new capture.
//
// The package knows only bytes: the framing of events (SSE by the WHATWG rules,
// NDJSON, a JSON array), content codings, digests and times. It must not know where
// the bytes came from (no net/http) or what they mean (no AG-UI). It never parses
// the data of a frame.
package capture
