package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// sealLine is a line with a seal. They follow the entries, ordered by size.
type sealLine struct {
	Seal sealText `json:"seal"`
}

type sealText struct {
	Size       int64  `json:"size"`
	Checkpoint string `json:"checkpoint"`
	Token      []byte `json:"token,omitempty"`
}

// checkSeal returns the finding seal_malformed or seal_of_another if a seal cannot be one of a
// thread.
func checkSeal(thread string, s *store.Seal) error {
	c, err := seal.Open(s)
	if err != nil {
		return err
	}
	if same, _ := c.IsOf(store.Key{Thread: thread}); !same {
		return finding.New(finding.SealOfAnother, "the seal of %d entries is of another thread than %s", s.Size, finding.Quote(thread))
	}
	return nil
}

// errSealBytes means that a file would have more bytes of seals than a decoder accepts.
var errSealBytes = fmt.Errorf("the seals have more than %d bytes, which is the most that a file can have", maxSealBytes)

// seal writes the next seal.
func (e *encoder) seal(s *store.Seal) error {
	if err := checkSeal(e.head.Thread, s); err != nil {
		return err
	}
	if e.sealBytes += len(s.Checkpoint) + len(s.Token); e.sealBytes > maxSealBytes {
		return errSealBytes
	}
	line, err := encode(sealLine{sealText{s.Size, string(s.Checkpoint), s.Token}})
	if err != nil {
		return err
	}
	e.seals++
	return e.write(line)
}

// seal reads the line of a seal.
func (d *decoder) seal(text []byte) error {
	var l sealLine
	if err := decode(text, &l); err != nil {
		return d.malformed(err)
	}
	s := store.Seal{Size: l.Seal.Size, Checkpoint: []byte(l.Seal.Checkpoint), Token: l.Seal.Token}
	first, last := max(d.head.After, 1), d.head.After+d.tail.Entries
	if n := len(d.seals); n > 0 {
		first = d.seals[n-1].Size + 1
	}
	d.sealBytes += len(s.Checkpoint) + len(s.Token)
	switch {
	case d.head.Schema != SealedSchema:
		return d.malformed(fmt.Errorf("a file with the schema %s has no seals", d.head.Schema))
	case s.Size < first:
		return d.malformed(fmt.Errorf("the size of the seal is %d; it must be at least %d", s.Size, first))
	case d.sealBytes > d.maxSeals:
		return d.malformed(errSealBytes)
	}
	if err := s.Check(store.Blocks{}, last); err != nil {
		return d.malformed(err)
	}
	if err := checkSeal(d.head.Thread, &s); err != nil {
		f, _ := finding.FromError(err)
		return f.WithLine(d.line).WithHint("use another copy of the file; this one was changed")
	}
	d.seals = append(d.seals, s)
	return nil
}

// checkSeals returns an error unless the seals of a file are of its entries and of those of the
// log that precede them, and, with a policy, are signed by trusted keys.
func (row *Row) checkSeals(ctx context.Context, to *copier, src *source, file *contents, policy *seal.Policy) error {
	foreign := 0
	var judged finding.List
	for i := range file.seals {
		s := &file.seals[i]
		c, err := seal.Open(s)
		if err != nil {
			return err
		}
		if _, same := c.IsOf(to.key); !same {
			foreign++
		}
		if policy == nil {
			continue
		}
		for _, f := range policy.Judge(ctx, s) {
			if f.Severity == finding.Error {
				return f
			}
			judged.Add(f)
		}
	}
	row.Findings = append(row.Findings, judged.Findings()...)
	if foreign > 0 {
		row.Findings = append(row.Findings, finding.New(finding.SealOfOtherTenant, "%d of the %d seals are of this thread id in another tenant than %s", foreign, len(file.seals), finding.Quote(to.key.Tenant)))
	}
	err := seal.Compare(file.seals, func(yield func(*store.Entry, error) bool) {
		if file.After > 0 {
			for e, err := range to.log.Read(ctx, to.key, 0) {
				if err != nil {
					err = &logError{err}
				}
				if !yield(e, err) || err != nil {
					return
				}
				if e.Position == file.After {
					break
				}
			}
		}
		for e, err := range src.entries(ctx, file) {
			if !yield(e, err) {
				return
			}
		}
	})
	if f, ok := errors.AsType[finding.Finding](err); ok && f.Code == finding.ThreadRewritten {
		return f.WithHint("use another copy of the file; this one, or the log, was changed after the seal was made")
	}
	return err
}

// addSeals adds the seals of a file that the log does not have.
func (row *Row) addSeals(ctx context.Context, to *copier, seals []store.Seal) error {
	own, err := to.ownSeals(ctx, seals)
	if err != nil {
		return err
	}
	kept := 0
	for i := range seals {
		s := &seals[i]
		if own[s.Size] == "" {
			own[s.Size] = digestOf(s)
			err := to.log.Seal(ctx, to.key, *s, store.Blocks{})
			if errors.Is(err, store.ErrSealed) { // by another process, meanwhile
				own, err = to.ownSeals(ctx, seals[i:])
			}
			if err != nil {
				return &logError{err}
			}
		}
		if own[s.Size] == digestOf(s) {
			to.Seals++
		} else {
			kept++
		}
	}
	if kept > 0 {
		row.Findings = append(row.Findings, finding.New(finding.SealKept, "thread %s has other seals for %d of the %d sizes that are sealed in the file", finding.Quote(to.Thread), kept, len(seals)))
	}
	return nil
}

// ownSeals returns the digests of the seals that the log has, by size. It begins and ends with
// the sizes of the given ones.
func (c *copier) ownSeals(ctx context.Context, seals []store.Seal) (map[int64]digest.Digest, error) {
	own := make(map[int64]digest.Digest)
	for s, err := range c.log.Seals(ctx, c.key, seals[0].Size-1) {
		if err != nil {
			return nil, &logError{err}
		}
		if s.Size > seals[len(seals)-1].Size {
			break
		}
		own[s.Size] = digestOf(s)
	}
	return own, nil
}

// digestOf returns the digest of what a seal says.
func digestOf(s *store.Seal) digest.Digest {
	return digest.Of(fmt.Appendf(nil, "%d %s%s", len(s.Checkpoint), s.Checkpoint, s.Token))
}
