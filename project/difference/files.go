package difference

import (
	"context"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

// Equal is the verdict on two artifacts with the same value, even if their bytes differ.
const Equal project.Verdict = "equal"

// File is one of the two files.
type File struct {
	File    string          `json:"file"`
	Verdict project.Verdict `json:"verdict"`
	// Digest is the digest of the file's bytes, CanonicalDigest that of the artifact's
	// canonical bytes. Files with the same value have the same canonical digest.
	Digest          *digest.Digest    `json:"digest"`
	CanonicalDigest *digest.Digest    `json:"canonical_digest"`
	Findings        []finding.Finding `json:"findings"`
}

// Row is the outcome of comparing two files.
type Row struct {
	// Verdict is Equal or project.Differs. If a file is not a well-formed artifact,
	// it is the verdict on that file, and nothing is compared.
	Verdict project.Verdict `json:"verdict"`
	A       File            `json:"a"`
	B       File            `json:"b"`
	// Same is the number of messages that are the same in both.
	Same        int          `json:"same"`
	Differences []Difference `json:"differences"`
}

// CompareFiles compares two artifact files under contract v1. The path "-" means
// standard input, which can be given only once.
func CompareFiles(ctx context.Context, a, b string) Row {
	row := Row{Verdict: Equal, Differences: []Difference{}}
	inA := row.A.read(ctx, a)
	inB := row.B.read(ctx, b)
	for _, f := range []File{row.A, row.B} {
		if f.Verdict != project.Accepted && row.Verdict != project.Failed {
			row.Verdict = f.Verdict
		}
	}
	if row.Verdict != Equal {
		return row
	}
	row.Differences, row.Same = Compare(inA, inB)
	if len(row.Differences) > 0 {
		row.Verdict = project.Differs
	}
	return row
}

func (f *File) read(ctx context.Context, path string) *artifact.Artifact {
	a, judged := validate.ReadArtifact(ctx, path)
	*f = File{File: path, Verdict: judged.Verdict, Digest: judged.Digest, Findings: judged.Findings}
	if a != nil {
		d := digest.Of(artifact.Encode(a))
		f.CanonicalDigest = &d
	}
	return a
}
