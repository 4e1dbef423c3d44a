package main

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// What this program says of SARIF 2.1.0 (OASIS Standard, with errata 01) and
// of itself in it.
const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homepage     = "https://github.com/p20export/p20export"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Artifacts   []sarifArtifact   `json:"artifacts"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name            string       `json:"name"`
	Version         string       `json:"version"`
	SemanticVersion string       `json:"semanticVersion"`
	InformationURI  string       `json:"informationUri"`
	Notifications   []sarifAbout `json:"notifications,omitempty"`
	Rules           []sarifAbout `json:"rules"`
}

// sarifAbout is a reportingDescriptor (§3.49): a code and what its findings
// have in common.
type sarifAbout struct {
	ID               finding.Code         `json:"id"`
	ShortDescription sarifMessage         `json:"shortDescription"`
	HelpURI          string               `json:"helpUri"`
	Help             *sarifMessage        `json:"help,omitempty"`
	Configuration    sarifConfiguration   `json:"defaultConfiguration"`
	Properties       sarifAboutProperties `json:"properties"`
}

type sarifConfiguration struct {
	Level string `json:"level"`
}

type sarifAboutProperties struct {
	Severity finding.Severity `json:"severity"`
	Spec     string           `json:"spec,omitzero"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Descriptor sarifDescriptor  `json:"descriptor"`
	Level      string           `json:"level"`
	Message    sarifMessage     `json:"message"`
	Locations  []sarifLocation  `json:"locations"`
	Properties *sarifProperties `json:"properties,omitempty"`
}

type sarifDescriptor struct {
	ID    finding.Code `json:"id"`
	Index int          `json:"index"`
}

type sarifArtifact struct {
	Location   sarifPlace              `json:"location"`
	Length     *int64                  `json:"length,omitempty"`
	Roles      []string                `json:"roles"`
	Hashes     *sarifHashes            `json:"hashes,omitempty"`
	Properties sarifArtifactProperties `json:"properties"`
}

type sarifHashes struct {
	SHA256 string `json:"sha-256"`
}

type sarifArtifactProperties struct {
	Kind      string           `json:"kind,omitzero"`
	Profile   artifact.Profile `json:"profile"`
	Verdict   string           `json:"verdict"`
	Canonical *bool            `json:"canonical,omitempty"`
}

// sarifPlace is an artifactLocation (§3.4).
type sarifPlace struct {
	URI         string        `json:"uri"`
	Index       *int          `json:"index,omitempty"`
	Description *sarifMessage `json:"description,omitempty"`
}

type sarifResult struct {
	RuleID     finding.Code     `json:"ruleId"`
	RuleIndex  int              `json:"ruleIndex"`
	Level      string           `json:"level"`
	Message    sarifMessage     `json:"message"`
	Locations  []sarifLocation  `json:"locations"`
	Properties *sarifProperties `json:"properties,omitempty"`
}

// sarifProperties is what SARIF has no place for. Hint is this finding's own;
// its rule's help is that of most findings.
type sarifProperties struct {
	Rule       string `json:"rule,omitzero"`
	Spec       string `json:"spec,omitzero"`
	Hint       string `json:"hint,omitzero"`
	EventIndex *int   `json:"event_index,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifPlace   `json:"artifactLocation"`
	Region   *sarifRegion `json:"region,omitempty"`
	Context  *sarifRegion `json:"contextRegion,omitempty"`
}

// sarifRegion is from a place to the end of its line (§3.30). The snippet is
// escaped and cut as on a terminal.
type sarifRegion struct {
	StartLine   int          `json:"startLine,omitzero"`
	StartColumn int          `json:"startColumn,omitzero"`
	ByteOffset  *int64       `json:"byteOffset,omitempty"`
	Snippet     *sarifString `json:"snippet,omitempty"`
}

type sarifString struct {
	Text string `json:"text"`
}

type sarifLogical struct {
	Pointer finding.Pointer `json:"fullyQualifiedName"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

// sarifLevels spells severities.
var sarifLevels = map[finding.Severity]string{finding.Error: "error", finding.Warning: "warning", finding.Info: "note"}

// newSARIF makes one log of all rows. What could not be judged is a
// notification, every other finding a result, in the order of the rows.
//
// Every finding is held at once, which is bounded by the files named: a file has
// about a hundred at most, and 10,000 files of a hundred take 1.7 GB.
func newSARIF(rows []result) sarifLog {
	rules, ruleIndex := sarifAbouts(rows, false)
	notices, noticeIndex := sarifAbouts(rows, true)
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: tool().Name, Version: version, SemanticVersion: version, InformationURI: homepage,
			Notifications: notices, Rules: rules,
		}},
		Artifacts:  []sarifArtifact{},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	did := sarifInvocation{Successful: true}
	var files sarifFiles
	for _, row := range rows {
		place := files.add(row)
		for _, f := range row.findings {
			level, message, locations := sarifLevels[f.Severity], newSARIFMessage(said(f)), []sarifLocation{newSARIFLocation(place, f)}
			if row.failed() {
				did.Notifications = append(did.Notifications, sarifNotification{sarifDescriptor{f.Code, noticeIndex[f.Code]}, level, message, locations, newSARIFProperties(f)})
			} else {
				run.Results = append(run.Results, sarifResult{f.Code, ruleIndex[f.Code], level, message, locations, newSARIFProperties(f)})
			}
		}
		did.Successful = did.Successful && !row.failed()
	}
	run.Invocations = []sarifInvocation{did}
	run.Artifacts = append(run.Artifacts, files.list...)
	return sarifLog{sarifSchema, sarifVersion, []sarifRun{run}}
}

// sarifAbouts describes the codes of the rows that failed, or of those that did
// not, sorted, and says where in that list each is.
func sarifAbouts(rows []result, failed bool) ([]sarifAbout, map[finding.Code]int) {
	index := map[finding.Code]int{}
	for _, row := range rows {
		for _, f := range row.findings {
			if row.failed() == failed {
				index[f.Code] = 0
			}
		}
	}
	list := []sarifAbout{}
	for _, code := range slices.Sorted(maps.Keys(index)) {
		about, _ := finding.Describe(code)
		index[code] = len(list)
		a := sarifAbout{
			ID:               code,
			ShortDescription: newSARIFMessage(about.Meaning),
			HelpURI:          codesURI,
			Configuration:    sarifConfiguration{sarifLevels[about.Severity]},
			Properties:       sarifAboutProperties{about.Severity, about.Spec},
		}
		if about.Hint != "" {
			help := newSARIFMessage(about.Hint)
			a.Help = &help
		}
		list = append(list, a)
	}
	return list, index
}

// sarifFiles lists each file once: SARIF wants artifacts to be unique (§3.14.15).
type sarifFiles struct {
	list []sarifArtifact
	at   map[sarifFile]int
}

type sarifFile struct {
	uri    string
	digest digest.Digest
}

// add returns where a row's file is among the artifacts.
func (s *sarifFiles) add(row result) sarifPlace {
	place := sarifPlace{URI: fileURI(row.file)}
	key := sarifFile{uri: place.URI}
	a := sarifArtifact{
		Location:   place,
		Roles:      []string{"analysisTarget"},
		Properties: sarifArtifactProperties{row.kind, row.profile, row.verdict, row.canonical},
	}
	if row.file == "-" {
		a.Location.Description = &sarifMessage{"standard input"}
	}
	if row.digest != "" {
		key.digest = row.digest
		a.Length, a.Hashes = &row.bytes, &sarifHashes{row.digest.Hex()}
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

// fileURI spells a path as a URI reference (RFC 3986 §4.1): relative as it was
// given, absolute with its scheme. Standard input is "-", which is the name of
// no file: one of that name is "./-".
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}

func newSARIFLocation(place sarifPlace, f finding.Finding) sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{Artifact: place}}
	if f.Offset != nil {
		l.Physical.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column, ByteOffset: f.Offset}
	}
	if e := f.Excerpt; e.Text != "" {
		if rest := e.Text[e.At:]; rest != "" {
			l.Physical.Region.Snippet = &sarifString{rest}
		}
		l.Physical.Context = &sarifRegion{StartLine: f.Line, Snippet: &sarifString{e.Text}}
	}
	if f.Pointer != "" {
		l.Logical = []sarifLogical{{f.Pointer}}
	}
	return l
}

func newSARIFProperties(f finding.Finding) *sarifProperties {
	p := sarifProperties{f.Rule, f.Spec, f.Hint, f.EventIndex}
	if p == (sarifProperties{}) {
		return nil
	}
	return &p
}

// codesURI is the table of finding codes.
const codesURI = "https://github.com/p20export/p20export/blob/main/docs/contract.md#11-finding-codes"

// said is all of a finding that a reader of a message alone needs.
func said(f finding.Finding) string {
	text := f.Message + rule(f)
	if f.Hint != "" {
		text += ". Next: " + f.Hint
	}
	return text
}

// newSARIFMessage makes a plain text message. Braces would be placeholders and
// are doubled (§3.11.5); what would be a link is none (§3.11.6): a quoted piece
// of input must not become one.
func newSARIFMessage(text string) sarifMessage {
	text = braces.Replace(finding.Printable(text))
	if strings.Contains(text, "](") {
		text = strings.ReplaceAll(text, "[", `\[`)
	}
	return sarifMessage{text}
}

var braces = strings.NewReplacer("{", "{{", "}", "}}")
