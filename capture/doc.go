// Package capture keeps the bytes of a response exactly as they arrived, and
// reads them back frame by frame.
//
// A capture is a directory: the response body byte for byte, the request body
// when it is known, the arrival of every network read, and a manifest
// (capture.json) that names each file by size and digest. The manifest is
// written last, so its presence means that the capture was closed; a directory
// without one is unfinished and refused. A plain file, or standard input, is
// read wherever a capture is, without arrivals.
//
// The package knows bytes alone: how events are framed (SSE by the WHATWG
// rules, NDJSON, a JSON array), content codings, digests and times. It must not
// know where the bytes came from (no net/http) nor what they mean (no AG-UI).
// A frame's data is never parsed here.
package capture
