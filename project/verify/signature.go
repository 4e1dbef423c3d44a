package verify

import (
	"context"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/sign"
)

// judged is the result of judging the signature of one record.
type judged struct {
	signature *sign.Signature
	found     []finding.Finding
	failed    bool // a file could not be read
}

// judge judges the signature of the record at path, which has the given bytes.
func judge(ctx context.Context, path string, stated []byte, p *sign.Policy, read func(path string, limit int) ([]byte, error)) *judged {
	if p == nil {
		p = &sign.Policy{}
	}
	f, err := sign.Read(path, len(stated), read)
	if err != nil {
		one, isVerdict := finding.FromError(err)
		return &judged{p.Unread(), []finding.Finding{one}, !isVerdict}
	}
	s, found := p.Check(ctx, stated, f)
	if ctx.Err() != nil {
		interrupted, _ := finding.FromError(context.Cause(ctx))
		return &judged{p.Unread(), []finding.Finding{interrupted}, true}
	}
	return &judged{s, found, false}
}

// verdict returns the verdict on an artifact with its signature. Verified becomes Broken or
// Unsigned if the signature is not what the policy demands.
func (j *judged) verdict(v project.Verdict) project.Verdict {
	switch {
	case j.failed:
		return project.Failed
	case v != project.Verified || !finding.Failed(j.found):
		return v
	case j.signature != nil && j.signature.State != sign.IsBroken:
		return Unsigned
	}
	return Broken
}

// addTo adds what is known of the signature to the row of a record.
func (j *judged) addTo(row *TreeRow) {
	if j == nil {
		return
	}
	row.Signature, row.Verdict, row.Findings = j.signature, j.verdict(row.Verdict), append(row.Findings, j.found...)
	finding.Sort(row.Findings)
}
