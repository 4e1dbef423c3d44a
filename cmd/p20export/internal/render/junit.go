package render

import (
	"bufio"
	"encoding/xml"
	"errors"
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
)

// JUnitSuites is JUnit XML as CI systems read it (the schema of Jenkins's xUnit
// plugin, junit-10.xsd). It has no times: the same files give the same bytes.
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

// JUnitCase is one file, or one run of a capture. Of error, failure and output
// it has at most one.
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

// JUnitText is text as it is, in a CDATA section.
type JUnitText struct {
	Text string `xml:",cdata"`
}

// junit writes one document of all rows of a command: a negative verdict is a
// failure, what could not be judged an error. The text is that of --format text.
func (p *Printer) junit(command string, rows []result) {
	suite := JUnitSuite{Name: "p20export " + command, Tests: len(rows)}
	for _, row := range rows {
		c := JUnitCase{Name: finding.Escape(row.name), Class: "p20export." + command}
		switch row.status {
		case Done:
			if len(row.findings) > 0 {
				c.SystemOut = &JUnitText{plainFindings(row.findings)}
			}
		case Negative:
			suite.Failures++
			c.Failure = newJUnitProblem(row)
		default:
			suite.Errors++
			c.Error = newJUnitProblem(row)
		}
		suite.Cases = append(suite.Cases, c)
	}
	p.w.WriteString(xml.Header)
	e := xml.NewEncoder(p.w)
	e.Indent("", "  ")
	p.err = errors.Join(p.err, e.Encode(JUnitSuites{Suite: suite}))
	p.w.WriteByte('\n')
}

// newJUnitProblem says what is wrong with a row: the first error, then all.
func newJUnitProblem(row result) *JUnitProblem {
	problem := &JUnitProblem{Type: row.verdict, JUnitText: JUnitText{plainFindings(row.findings)}}
	if i := slices.IndexFunc(row.findings, func(f finding.Finding) bool { return f.Severity == finding.Error }); i >= 0 {
		problem.Message = sentence(row.findings[i])
	}
	return problem
}

// plainFindings is findings as text without colour. Everything that XML cannot
// carry (XML 1.0 §2.2) is escaped in it.
func plainFindings(list []finding.Finding) string {
	var text strings.Builder
	p := Printer{w: bufio.NewWriter(&text)}
	p.findings(list)
	p.w.Flush()
	return "\n" + text.String()
}
