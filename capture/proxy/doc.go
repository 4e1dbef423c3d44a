// Package proxy is a reverse proxy that passes exchanges on and records them as captures.
//
// A POST request that is answered with a stream of events is recorded, and so is one whose
// response has a status of 400 or more. Everything else passes unrecorded. What a read of
// the response returns is copied to a queue in memory and passed on at once; a goroutine of
// the recording writes the queue to the capture. The client never waits for the disk. If
// the queue is full or the capture cannot be written, the capture ends and the exchange
// goes on, unless Settings.FailOnStore is set.
//
// The package knows HTTP and package capture. It must not know AG-UI.
package proxy
