// Package frame defines what package capture reads and package envelope interprets: one
// event of a response. Because of it, envelope does not depend on where events come from.
package frame

import "time"

// MaxBytes limits the data of a frame. It is larger than any conversation that a model
// accepts, and small enough to keep in memory.
const MaxBytes = 64 << 20

// Frame is an event of a response: its data and its place. Offsets are byte offsets
// in the response, decoded if it has a content coding.
type Frame struct {
	// Index is the index of the event in the capture, from 0.
	Index int
	// Offset is the offset of the first data byte. If the data is empty, it is the
	// offset where the data would be.
	Offset int64
	// Bytes is the number of bytes from Offset to the last data byte, inclusive. If
	// SSE data has several lines, it includes the bytes between the lines.
	Bytes int64
	// Line is the line number of Offset in the response, from 1. Only LF ends a
	// line, under every framing.
	Line int
	// End is the offset after the byte that completed the event: for SSE the first
	// byte of the terminator of the blank line, otherwise the line feed, ',' or ']'
	// after the event, or the end of the file. Offset+Bytes <= End.
	End int64
	// Data is the data of the event. The data lines of SSE are joined by line feeds.
	Data []byte
	// Arrived is the time of the read that completed the event, or zero if it is not
	// known.
	Arrived time.Time
	// Problem is the finding event_too_large if the event was too large to store, and
	// nil otherwise. If Problem is not nil, Data is nil. The next frame is not
	// affected.
	Problem error
}
