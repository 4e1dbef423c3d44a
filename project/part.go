package project

import "github.com/p20export/p20export/envelope"

// Part is one event of the envelope and where it is in the response.
type Part struct {
	Part string `json:"part"`
	envelope.Ref
}

// The parts of an envelope.
const (
	RunStartedPart = "run_started"
	SnapshotPart   = "messages_snapshot"
	TerminalPart   = "terminal"
)
