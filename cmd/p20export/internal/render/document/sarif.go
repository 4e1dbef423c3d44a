package document

import (
	"bufio"
	"bytes"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/render/rows"
	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
)

// The version and schema of SARIF 2.1.0 (OASIS Standard, with errata 01).
const (
	SARIFVersion = "2.1.0"
	SARIFSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

type SARIFLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []SARIFRun `json:"runs"`
}

type SARIFRun struct {
	Tool        SARIFTool         `json:"tool"`
	Invocations []SARIFInvocation `json:"invocations"`
	Artifacts   []SARIFArtifact   `json:"artifacts"`
	ColumnKind  string            `json:"columnKind"`
	Results     []SARIFResult     `json:"results"`
}

type SARIFTool struct {
	Driver SARIFDriver `json:"driver"`
}

type SARIFDriver struct {
	Name            string       `json:"name"`
	Version         string       `json:"version"`
	SemanticVersion string       `json:"semanticVersion"`
	InformationURI  string       `json:"informationUri"`
	Notifications   []SARIFAbout `json:"notifications,omitempty"`
	Rules           []SARIFAbout `json:"rules"`
}

// SARIFAbout is a reportingDescriptor (§3.49). It describes a finding code.
type SARIFAbout struct {
	ID               finding.Code         `json:"id"`
	ShortDescription SARIFMessage         `json:"shortDescription"`
	HelpURI          string               `json:"helpUri"`
	Help             *SARIFMessage        `json:"help,omitempty"`
	Configuration    SARIFConfiguration   `json:"defaultConfiguration"`
	Properties       SARIFAboutProperties `json:"properties"`
}

type SARIFConfiguration struct {
	Level string `json:"level"`
}

type SARIFAboutProperties struct {
	Severity finding.Severity `json:"severity"`
	Spec     string           `json:"spec,omitzero"`
}

type SARIFInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []SARIFNotification `json:"toolExecutionNotifications,omitempty"`
}

type SARIFNotification struct {
	Descriptor SARIFDescriptor  `json:"descriptor"`
	Level      string           `json:"level"`
	Message    SARIFMessage     `json:"message"`
	Locations  []SARIFLocation  `json:"locations"`
	Properties *SARIFProperties `json:"properties,omitempty"`
}

type SARIFDescriptor struct {
	ID    finding.Code `json:"id"`
	Index int          `json:"index"`
}

type SARIFArtifact struct {
	Location   SARIFPlace              `json:"location"`
	Length     *int64                  `json:"length,omitempty"`
	Roles      []string                `json:"roles"`
	Hashes     *SARIFHashes            `json:"hashes,omitempty"`
	Properties SARIFArtifactProperties `json:"properties"`
}

type SARIFHashes struct {
	SHA256 string `json:"sha-256"`
}

type SARIFArtifactProperties struct {
	Kind      string           `json:"kind,omitzero"`
	Profile   artifact.Profile `json:"profile"`
	Verdict   string           `json:"verdict"`
	Canonical *bool            `json:"canonical,omitempty"`
}

// SARIFPlace is an artifactLocation (§3.4).
type SARIFPlace struct {
	URI         string        `json:"uri"`
	Index       *int          `json:"index,omitempty"`
	Description *SARIFMessage `json:"description,omitempty"`
}

type SARIFResult struct {
	RuleID     finding.Code     `json:"ruleId"`
	RuleIndex  int              `json:"ruleIndex"`
	Level      string           `json:"level"`
	Message    SARIFMessage     `json:"message"`
	Locations  []SARIFLocation  `json:"locations"`
	Properties *SARIFProperties `json:"properties,omitempty"`
}

// SARIFProperties has the data for which SARIF has no key. Hint is the next step for
// this finding; the help of its SARIF rule is the usual next step. Rule is a rule of the
// contract, and See its address. A SARIF rule is something else: a finding code.
type SARIFProperties struct {
	Rule       string `json:"rule,omitzero"`
	Spec       string `json:"spec,omitzero"`
	See        string `json:"see,omitzero"`
	Hint       string `json:"hint,omitzero"`
	EventIndex *int   `json:"event_index,omitempty"`
}

type SARIFLocation struct {
	Physical SARIFPhysical  `json:"physicalLocation"`
	Logical  []SARIFLogical `json:"logicalLocations,omitempty"`
}

type SARIFPhysical struct {
	Artifact SARIFPlace   `json:"artifactLocation"`
	Region   *SARIFRegion `json:"region,omitempty"`
	Context  *SARIFRegion `json:"contextRegion,omitempty"`
}

// SARIFRegion is a region from a position to the end of its line (§3.30). The snippet
// is escaped and truncated as on a terminal.
type SARIFRegion struct {
	StartLine   int          `json:"startLine,omitzero"`
	StartColumn int          `json:"startColumn,omitzero"`
	ByteOffset  *int64       `json:"byteOffset,omitempty"`
	Snippet     *SARIFString `json:"snippet,omitempty"`
}

type SARIFString struct {
	Text string `json:"text"`
}

type SARIFLogical struct {
	Pointer finding.Pointer `json:"fullyQualifiedName"`
}

type SARIFMessage struct {
	Text string `json:"text"`
}

// SARIFLevel returns the SARIF level of a severity.
func SARIFLevel(s finding.Severity) string {
	if s == finding.Info {
		return "note"
	}
	return string(s)
}

// sarifLog builds one log from all rows. Findings about files that could not be checked
// become notifications, and all others results, in the order of the rows.
//
// SARIF lists rules and files before the results, so results are spooled until the last
// row, as the bytes that write copies into the log. The descriptions of files and the
// notifications stay in memory.
type sarifLog struct {
	tool           record.Tool
	rules, notices sarifCodes
	files          sarifFiles
	notifications  []SARIFNotification
	failed         bool
	results        spool // the members of an array, which begin with a line feed
	spooled        int   // number of results
}

// Add implements Document.
func (s *sarifLog) Add(row Result) error {
	place := s.files.add(row)
	s.failed = s.failed || row.Outcome == Failed
	for _, f := range row.Findings {
		level, message, locations := SARIFLevel(f.Severity), newSARIFMessage(fullMessage(f)), []SARIFLocation{newSARIFLocation(place, withLine(f, row))}
		if row.Outcome == Failed {
			s.notifications = append(s.notifications, SARIFNotification{SARIFDescriptor{f.Code, s.notices.add(f.Code)}, level, message, locations, newSARIFProperties(f)})
			continue
		}
		text, err := json.Marshal(SARIFResult{f.Code, s.rules.add(f.Code), level, message, locations, newSARIFProperties(f)},
			jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "), jsontext.WithIndentPrefix(resultIndent))
		if err != nil {
			return err
		}
		before := "\n" + resultIndent
		if s.spooled++; s.spooled > 1 {
			before = "," + before
		}
		if err := s.results.add(append([]byte(before), text...)); err != nil {
			return err
		}
	}
	return nil
}

// resultIndent is the indentation of a result: an array of an object of an array of an
// object contains it.
const resultIndent = "        "

// Write implements Document.
func (s *sarifLog) Write(w *bufio.Writer) error {
	log, err := json.Marshal(SARIFLog{SARIFSchema, SARIFVersion, []SARIFRun{{
		Tool: SARIFTool{SARIFDriver{
			Name: s.tool.Name, Version: s.tool.Version, SemanticVersion: s.tool.Version, InformationURI: text.Homepage,
			Notifications: s.notices.list, Rules: append([]SARIFAbout{}, s.rules.list...),
		}},
		Invocations: []SARIFInvocation{{!s.failed, s.notifications}},
		Artifacts:   append([]SARIFArtifact{}, s.files.list...),
		ColumnKind:  "unicodeCodePoints",
		Results:     []SARIFResult{},
	}}}, jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	results, err := s.results.reader()
	if err != nil {
		return err
	}
	const empty = `"results": [` // in a string, the quotes would be escaped
	at := bytes.LastIndex(log, []byte(empty)) + len(empty)
	to := &rows.Escaper{W: w}
	_, _ = to.Write(log[:at])
	if _, err := io.Copy(to, results); err != nil {
		return err
	}
	if s.spooled > 0 {
		_, _ = to.Write([]byte("\n" + resultIndent[2:]))
	}
	_, _ = to.Write(append(log[at:], '\n'))
	return nil
}

// Close implements Document.
func (s *sarifLog) Close() error { return s.results.close() }

// sarifCodes describes each code once, in the order in which the codes are added.
type sarifCodes struct {
	list []SARIFAbout
	at   map[finding.Code]int
}

// add adds a code if it is new, and returns its index in the list.
func (s *sarifCodes) add(code finding.Code) int {
	if i, seen := s.at[code]; seen {
		return i
	}
	if s.at == nil {
		s.at = map[finding.Code]int{}
	}
	s.at[code] = len(s.list)
	about, _ := finding.Describe(code)
	a := SARIFAbout{
		ID:               code,
		ShortDescription: newSARIFMessage(about.Meaning),
		HelpURI:          text.CodeURI(code),
		Configuration:    SARIFConfiguration{SARIFLevel(about.Severity)},
		Properties:       SARIFAboutProperties{about.Severity, about.Spec},
	}
	if about.Hint != "" {
		help := newSARIFMessage(about.Hint)
		a.Help = &help
	}
	s.list = append(s.list, a)
	return s.at[code]
}

// sarifFiles lists each file once: SARIF artifacts must be unique (§3.14.15).
type sarifFiles struct {
	list []SARIFArtifact
	at   map[sarifFile]int
}

type sarifFile struct {
	uri    string
	digest digest.Digest
}

// add adds the file of a row if it is new, and returns its location.
func (s *sarifFiles) add(row Result) SARIFPlace {
	place := SARIFPlace{URI: fileURI(row.File)}
	key := sarifFile{uri: place.URI}
	a := SARIFArtifact{
		Location:   place,
		Roles:      []string{"analysisTarget"},
		Properties: SARIFArtifactProperties{row.Kind, row.Profile, row.Verdict, row.Canonical},
	}
	if row.File == "-" {
		a.Location.Description = &SARIFMessage{"standard input"}
	}
	if row.Digest != "" {
		key.digest = row.Digest
		length := row.Bytes // a copy, so that the row is not retained
		a.Length, a.Hashes = &length, &SARIFHashes{row.Digest.Hex()}
	}
	i, seen := s.at[key]
	if !seen {
		if s.at == nil {
			s.at = map[sarifFile]int{}
		}
		i = len(s.list)
		s.at[key] = i
		s.list = append(s.list, a)
	}
	place.Index = &i
	return place
}

// fileURI returns a path as a URI reference (RFC 3986 §4.1). A relative path stays
// relative; an absolute path gets the scheme file. Standard input is "-"; a file with
// that name is "./-".
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}

// withLine returns the finding with a line number, which code scanning requires. For a
// response it is the line in the response.
func withLine(f finding.Finding, row Result) finding.Finding {
	if f.Line == 0 && row.Response {
		f.Line = f.ResponseLine
	}
	return f
}

func newSARIFLocation(place SARIFPlace, f finding.Finding) SARIFLocation {
	l := SARIFLocation{Physical: SARIFPhysical{Artifact: place}}
	if f.Offset != nil {
		l.Physical.Region = &SARIFRegion{StartLine: f.Line, StartColumn: f.Column, ByteOffset: f.Offset}
	}
	if e := f.Excerpt; e.Text != "" {
		if rest := e.Text[e.At:]; rest != "" {
			l.Physical.Region.Snippet = &SARIFString{rest}
		}
		l.Physical.Context = &SARIFRegion{StartLine: f.Line, Snippet: &SARIFString{e.Text}}
	}
	if f.Pointer != "" {
		l.Logical = []SARIFLogical{{f.Pointer}}
	}
	return l
}

func newSARIFProperties(f finding.Finding) *SARIFProperties {
	p := SARIFProperties{Rule: f.Rule, Spec: f.Spec, Hint: f.Hint, EventIndex: f.EventIndex}
	if f.Rule != "" {
		p.See = text.RuleURI(f.Rule)
	}
	if p == (SARIFProperties{}) {
		return nil
	}
	return &p
}

// fullMessage returns the message of a finding with its rule and next step.
func fullMessage(f finding.Finding) string {
	message := f.Message + text.Rule(f)
	if f.Hint != "" {
		message += ". Next: " + f.Hint
	}
	return message
}

// newSARIFMessage returns a plain text message. Braces would be placeholders, so they
// are doubled (§3.11.5). Brackets that would form a link are escaped (§3.11.6): quoted
// input must not become a link.
func newSARIFMessage(text string) SARIFMessage {
	text = braces.Replace(finding.Printable(text))
	if strings.Contains(text, "](") {
		text = strings.ReplaceAll(text, "[", `\[`)
	}
	return SARIFMessage{text}
}

var braces = strings.NewReplacer("{", "{{", "}", "}}")
