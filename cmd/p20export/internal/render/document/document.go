// Package document collects results in a format that is one document: SARIF or JUnit XML.
package document

import (
	"bufio"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
)

// Document collects the results of a command. It is written after the last one was added.
type Document interface {
	Add(row Result) error
	Write(w *bufio.Writer) error
	Close() error
}

// NewSARIF returns an empty SARIF log. The tool identifies this program.
func NewSARIF(tool record.Tool) Document { return &sarifLog{tool: tool} }

// NewJUnit returns an empty JUnit document of a command.
func NewJUnit(command string) Document { return &junitSuite{command: command} }

// Result is the part of a document about one input, or about one run in it.
type Result struct {
	Name      string // of the input, and of the run if there is one
	File      string // that the offsets of findings refer to
	Response  bool   // whether the file is a response as it was sent, so that findings have lines in it
	Outcome   Outcome
	Verdict   string
	Digest    digest.Digest // of the file; empty if it was not read
	Bytes     int64
	Kind      string // empty if inputs have only one kind
	Profile   artifact.Profile
	Canonical *bool
	Findings  []finding.Finding
}

// Outcome says what a verdict means for a check.
type Outcome int

// The outcomes.
const (
	Passed   Outcome = iota
	Negative         // the check failed
	Failed           // the input could not be checked
)
