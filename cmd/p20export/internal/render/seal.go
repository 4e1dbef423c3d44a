package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/timetext"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// LogSealRow is the row of a thread that was to be sealed. The fields after Verdict are null if
// it was refused.
type LogSealRow struct {
	Tenant   string `json:"tenant"`
	ThreadID string `json:"thread_id"`
	// Verdict is written if there is a new seal, and skipped if nothing was appended since
	// the last one.
	Verdict project.Verdict `json:"verdict"`
	// Size is the number of entries that the seal is about.
	Size *int64 `json:"size"`
	// SealedAt is the time in the seal.
	SealedAt *string `json:"sealed_at"`
	// Checkpoint is the seal, which you can hand out: a signed note.
	Checkpoint *string `json:"checkpoint"`
	// File is the file to which the checkpoint was written, or null.
	File *string `json:"file"`
	// Cosigners are the names of the witnesses that have cosigned a new seal.
	Cosigners []string `json:"cosigners"`
	// NotLaterThan is the time of the token of a new seal, or null.
	NotLaterThan *string           `json:"not_later_than"`
	Findings     []finding.Finding `json:"findings"`
}

// NewLogSealRow returns the row of a seal, or of the finding for which there is none.
func NewLogSealRow(key store.Key, s *seal.Sealed, found ...finding.Finding) LogSealRow {
	row := LogSealRow{Tenant: key.Tenant, ThreadID: key.Thread, Verdict: project.Refused, Cosigners: []string{}, Findings: append([]finding.Finding{}, found...)}
	if s == nil {
		return row
	}
	row.Verdict = project.Skipped
	if s.New {
		row.Verdict = project.Written
	}
	row.Size, row.SealedAt, row.Checkpoint = &s.Seal.Size, new(artifact.FormatTime(s.Time)), new(string(s.Seal.Checkpoint))
	row.Cosigners, row.NotLaterThan = append(row.Cosigners, s.Cosigners...), timetext.Optional(s.NotLaterThan.Truncate(time.Second))
	return row
}

// LogSealed prints the result of sealing a thread.
func (p *Printer) LogSealed(row LogSealRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), shownKey(store.Key{Tenant: row.Tenant, Thread: row.ThreadID}))
	if row.Size != nil {
		p.Line("  sealed    \tup to position %s, at %s", humanize.Grouped(*row.Size), *row.SealedAt)
	}
	if row.File != nil {
		p.Line("  file      \t%s", finding.Printable(*row.File))
	}
	if len(row.Cosigners) > 0 {
		p.Line("  cosigned  \tby %s", strings.Join(row.Cosigners, ", "))
	}
	if row.NotLaterThan != nil {
		p.Line("  token     \t%s", *row.NotLaterThan)
	}
	p.Findings(row.Findings)
}

// LogSealSummary prints the number of threads by verdict.
func (p *Printer) LogSealSummary(t *Tally) {
	p.Note("%s", verdictCounts(t.counts, project.Written, project.Skipped, project.Refused))
}

// LogVerified prints the result of verifying a thread.
func (p *Printer) LogVerified(row seal.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	name := "no thread of the log" // is that of a known seal
	if row.Thread != "" {
		name = shownKey(store.Key{Tenant: row.Tenant, Thread: row.Thread})
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), name)
	switch {
	case row.Thread == "":
	case row.Verdict == seal.Erased:
		p.Line("  sealed    \t%s existed at %s, and were deleted", Counted(row.Position, "entry", "entries"), *row.Since)
	case row.Position > 0 && row.Verdict != seal.Unchanged:
		p.Line("  matches   \tthe seal of %s that was made at %s", Counted(row.Position, "entry", "entries"), *row.Since)
	case row.Position > 0:
		p.Line("  sealed    \tunchanged since %s up to position %s of %s", *row.Since, humanize.Grouped(row.Position), humanize.Grouped(row.Entries))
	default:
		p.Line("  matches   \tnone of the seals; the thread has %s", Counted(row.Entries, "entry", "entries"))
	}
	if row.DiffersFrom != nil {
		p.Line("  differs   \t%s", differing(*row.DiffersFrom, *row.DiffersTo))
	}
	if row.Signature != nil {
		p.sealSignature(row.Signature)
	}
	p.Findings(row.Findings)
}

// differing describes where the first difference is.
func differing(from, to int64) string {
	if from == to {
		return "first at position " + humanize.Grouped(from)
	}
	return fmt.Sprintf("first between the positions %s and %s", humanize.Grouped(from), humanize.Grouped(to))
}

// sealSignature prints who has signed a seal.
func (p *Printer) sealSignature(s *seal.Signature) {
	if s.Signer != nil {
		p.Line("  signed    \tby %s (%s)", s.Signer.Name, s.Signer.Type)
	}
	for _, w := range s.Cosigners {
		p.Line("  cosigned  \tby %s at %s", w.Name, w.At)
	}
	if s.NotLaterThan != nil {
		p.Line("  time      \tnot later than %s, according to %s", *s.NotLaterThan, *s.Authority)
	}
}

// LogVerifySummary prints the number of threads by verdict.
func (p *Printer) LogVerifySummary(t *Tally) {
	p.Note("%s", verdictCounts(t.counts, SealVerdicts()...))
}

// SealVerdicts are the verdicts of log verify.
func SealVerdicts() []project.Verdict {
	return []project.Verdict{seal.Unchanged, seal.Erased, seal.Rewritten, seal.CutOff, seal.Forked, seal.Broken, seal.Unsealed}
}

// LogProofRow is the row of a proof.
type LogProofRow struct {
	// File is the file with the proof.
	File string `json:"file"`
	// Verdict is written for a new proof, verified for one that proves its entries, and
	// refused for any other.
	Verdict project.Verdict `json:"verdict"`
	// First and Last are the positions of the first and of the last entry, or null.
	First *int64 `json:"first"`
	// Last is the position of the last entry, or null.
	Last *int64 `json:"last"`
	// Entries is the number of entries that are proved.
	Entries int64 `json:"entries"`
	// Hidden is the number of entries between the first and the last that are not shown.
	Hidden int64 `json:"hidden"`
	// Size is the number of entries that the seal is about, or null.
	Size *int64 `json:"size"`
	// SealedAt is the time in the seal, or null.
	SealedAt *string `json:"sealed_at"`
	// ThreadDigest is the digest of the id of the thread, or null.
	ThreadDigest *string `json:"thread_digest"`
	// TenantDigest is the digest of the tenant, or null.
	TenantDigest *string `json:"tenant_digest"`
	// Signature is what is known of the signatures of the seal, or null if they were not
	// judged.
	Signature *seal.Signature   `json:"signature"`
	Findings  []finding.Finding `json:"findings"`
}

// NewLogProofRow returns the row of a proof. c may be nil.
func NewLogProofRow(file string, verdict project.Verdict, proof *seal.Proof, c *seal.Checkpoint) LogProofRow {
	row := LogProofRow{File: file, Verdict: verdict, Findings: []finding.Finding{}}
	if proof != nil {
		row.Entries, row.Hidden = int64(len(proof.Entries)), int64(proof.Hidden())
		row.First, row.Last = &proof.Entries[0].Position, &proof.Entries[row.Entries-1].Position
	}
	if c != nil {
		row.Size, row.SealedAt = &c.Size, new(artifact.FormatTime(c.Time))
		row.ThreadDigest, row.TenantDigest = new(string(c.Thread)), new(string(c.Tenant))
	}
	return row
}

// LogProof prints a proof.
func (p *Printer) LogProof(row LogProofRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), finding.Printable(row.File))
	if row.First != nil {
		what := "position " + humanize.Grouped(*row.First)
		if *row.First != *row.Last {
			what = fmt.Sprintf("%s, positions %s to %s", Counted(row.Entries, "entry", "entries"), humanize.Grouped(*row.First), humanize.Grouped(*row.Last))
		}
		if row.Hidden > 0 {
			what += fmt.Sprintf("; %s between them not shown", Plural(int(row.Hidden), "entry is", "entries are"))
		}
		p.Line("  proves    \t%s", what)
	}
	if row.Size != nil {
		p.Line("  sealed    \tamong the first %s entries, at %s", humanize.Grouped(*row.Size), *row.SealedAt)
		p.Line("  thread    \t%s", *row.ThreadDigest)
	}
	if row.Signature != nil {
		p.sealSignature(row.Signature)
	}
	p.Findings(row.Findings)
}
