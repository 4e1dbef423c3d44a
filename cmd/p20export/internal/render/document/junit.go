package document

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/finding"
)

// JUnitSuites is the root of a JUnit XML document that CI systems can read (the schema
// of Jenkins's xUnit plugin, junit-10.xsd). It has no times, so that the same files
// produce the same bytes.
type JUnitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   JUnitSuite `xml:"testsuite"`
}

type JUnitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []JUnitCase `xml:"testcase"`
}

// JUnitCase is one file, or one run of a capture. It has at most one of error, failure
// and output.
type JUnitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Error     *JUnitProblem `xml:"error"`
	Failure   *JUnitProblem `xml:"failure"`
	SystemOut *JUnitText    `xml:"system-out"`
}

type JUnitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	JUnitText
}

// JUnitText is text in a CDATA section.
type JUnitText struct {
	Text string `xml:",cdata"`
}

// junitSuite builds one document from all rows of a command. A negative verdict is a
// failure; an input that could not be checked is an error. The text is the same as that
// of --format text.
//
// The counts come before the cases, so the cases are spooled until the last row.
type junitSuite struct {
	command string
	counts  JUnitSuite // without its cases
	cases   spool      // XML elements, each with its line feed
}

// Add implements Document.
func (s *junitSuite) Add(row Result) error {
	c := JUnitCase{Name: finding.Escape(row.Name), Class: "p20export." + s.command}
	s.counts.Tests++
	switch row.Outcome {
	case Passed:
		if len(row.Findings) > 0 {
			c.SystemOut = &JUnitText{plainFindings(row.Findings)}
		}
	case Negative:
		s.counts.Failures++
		c.Failure = newJUnitProblem(row)
	default:
		s.counts.Errors++
		c.Error = newJUnitProblem(row)
	}
	var text bytes.Buffer
	e := xml.NewEncoder(&text)
	e.Indent("    ", "  ")
	if err := e.EncodeElement(c, xml.StartElement{Name: xml.Name{Local: "testcase"}}); err != nil {
		return err
	}
	text.WriteByte('\n')
	return s.cases.add(text.Bytes())
}

// Write implements Document.
func (s *junitSuite) Write(w *bufio.Writer) error {
	s.counts.Name = "p20export " + s.command
	text, err := xml.MarshalIndent(JUnitSuites{Suite: s.counts}, "", "  ")
	if err != nil {
		return err
	}
	cases, err := s.cases.reader()
	if err != nil {
		return err
	}
	end := bytes.Index(text, []byte("</testsuite>"))
	w.WriteString(xml.Header)
	w.Write(text[:end])
	if s.counts.Tests > 0 {
		w.WriteByte('\n')
		if _, err := w.ReadFrom(cases); err != nil {
			return err
		}
		w.WriteString("  ")
	}
	w.Write(text[end:])
	return w.WriteByte('\n')
}

// Close implements Document.
func (s *junitSuite) Close() error { return s.cases.close() }

// newJUnitProblem describes the problem of a row: its message is the first error, its
// text has all findings. A run with a negative verdict may have no error; its message is
// then the warning that explains the verdict.
func newJUnitProblem(row Result) *JUnitProblem {
	problem := &JUnitProblem{Type: row.Verdict, JUnitText: JUnitText{plainFindings(row.Findings)}}
	i := slices.IndexFunc(row.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error })
	if i < 0 {
		i = slices.IndexFunc(row.Findings, func(f finding.Finding) bool { return f.Code == finding.SnapshotLacksText })
	}
	if i < 0 {
		i = slices.IndexFunc(row.Findings, func(f finding.Finding) bool { return f.Severity == finding.Warning })
	}
	if i >= 0 {
		problem.Message = text.Sentence(row.Findings[i])
	} else {
		problem.Message = row.Verdict
	}
	return problem
}

// plainFindings returns findings as text without colour. Characters that XML cannot
// contain (XML 1.0 §2.2) are escaped.
func plainFindings(list []finding.Finding) string {
	var plain strings.Builder
	w := bufio.NewWriter(&plain)
	text.New(w, false, false).Findings(list)
	w.Flush()
	return "\n" + plain.String()
}
