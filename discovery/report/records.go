package report

import (
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

// Frozen has records of frozen runs by what they were made from.
type Frozen map[record.Source][]Verified

// Verified is a record, and what verifying it with its capture and judging its signature
// have shown.
type Verified struct {
	Record    string // its path
	Verdict   project.Verdict
	Signature *sign.Signature // nil if no keys are trusted
}

// recordFacts returns the state of the records of a run and of their signatures.
func (v *viewer) recordFacts(r *run) (list []fact) {
	if v.records == nil {
		return nil
	}
	source := r.inspect.Source
	of := v.records[record.Source{Digest: source.Digest, Bytes: source.Bytes, Framing: string(source.Framing), ManifestDigest: source.ManifestDigest, Run: *r.inspect.Run}]
	if of == nil {
		return []fact{{Name: "Record", Value: "none was found"}}
	}
	for _, one := range of {
		says := []string{markup.Visible(filepath.Base(one.Record)), string(one.Verdict)}
		if s := one.Signature; s != nil {
			text := string(s.State)
			if len(s.Signers) > 0 && !v.show.Redact {
				var names []string
				for _, by := range s.Signers {
					names = append(names, v.short(by.Name))
				}
				text += " by " + strings.Join(names, ", ")
			}
			says = append(says, text)
			if s.NotLaterThan != nil {
				says = append(says, "not later than "+*s.NotLaterThan)
			}
		}
		list = append(list, fact{Name: "Record", Value: strings.Join(says, separator)})
	}
	return list
}
