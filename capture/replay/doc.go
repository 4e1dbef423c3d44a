// Package replay answers HTTP requests with recorded responses, as if it were the agent
// that was recorded: the same status, content type, bytes, pauses and end.
//
// It knows HTTP and package capture. It must not know AG-UI beyond the two ids and the
// messages of a run input.
//
// A replay sends the response that a capture contains. If the capture ended before the
// response did, as with capture.EndLimit and capture.EndStorage, the client once received
// more than that. A replay does not repeat the run: it reads the request only to choose a
// capture or to replace ids. Captures are verified when they are loaded and again while
// they are sent, and are never changed.
package replay
