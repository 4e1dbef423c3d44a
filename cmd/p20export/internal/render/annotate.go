package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/finding"
)

// annotate prints findings as workflow commands of GitHub Actions, which shows them at the
// lines of a file. Lines and columns are only known if the file is the response as sent.
func (p *Printer) annotate(file string, exact bool, findings []finding.Finding) {
	for _, f := range findings {
		command := map[finding.Severity]string{finding.Error: "error", finding.Warning: "warning", finding.Info: "notice"}[f.Severity]
		properties := []string{"file=" + property(finding.Escape(filepath.ToSlash(file)))}
		if line := f.Line; exact && line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", line))
			if f.Column > 0 {
				properties = append(properties, fmt.Sprintf("col=%d", f.Column))
			}
		} else if exact && f.ResponseLine > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", f.ResponseLine))
		}
		title := string(f.Code)
		if f.Rule != "" {
			title = f.Rule + " " + title
		}
		properties = append(properties, "title="+property(title))
		message := finding.Printable(f.Message)
		if f.EventIndex != nil {
			message = fmt.Sprintf("event %d: %s", *f.EventIndex, message)
		}
		if f.Hint != "" {
			message += "\nnext: " + finding.Printable(f.Hint)
		}
		p.Raw([]byte("::" + command + " " + strings.Join(properties, ",") + "::" + data(message) + "\n"))
	}
}

// data escapes the message of a workflow command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property escapes a property of a workflow command.
func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// placeOf describes the event of a finding, for a line of text.
func placeOf(f finding.Finding) string {
	if f.EventIndex == nil {
		return ""
	}
	return fmt.Sprintf(", event %d", *f.EventIndex)
}
