package seal

import (
	"bytes"
	"iter"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// Known is what a verifier knows of a thread from elsewhere.
type Known struct {
	// From says where it is from, for findings.
	From string
	// Seals are seals that the operator once handed out. Their Size may be 0.
	Seals []store.Seal
	// Entries, if not nil, are entries of an earlier copy, in their order.
	Entries iter.Seq2[*store.Entry, error]
}

// IsOf reports whether k is of a thread, as far as its first seal says that.
func (k *Known) IsOf(key store.Key) bool {
	for _, s := range k.Seals {
		if c, err := textOf(s.Checkpoint); err == nil {
			thread, tenant := c.IsOf(key)
			return thread && tenant
		}
	}
	return false
}

// ReadKnown reads a file with a checkpoint or a proof.
func ReadKnown(from string, file []byte) (Known, error) {
	k := Known{From: from}
	if bytes.HasPrefix(file, []byte(proofHeader)) || bytes.HasPrefix(file, []byte("{")) {
		p, err := DecodeProof(file)
		if err != nil {
			return k, err
		}
		k.Seals = []store.Seal{p.Seal}
		k.Entries = func(yield func(*store.Entry, error) bool) {
			for _, e := range p.Entries {
				if !yield(e, nil) {
					return
				}
			}
		}
		return k, nil
	}
	if _, err := textOf(file); err != nil {
		return k, finding.New(finding.SealMalformed, "it is neither a checkpoint, a proof nor an export: %s", finding.Printable(err.Error()))
	}
	k.Seals = []store.Seal{{Checkpoint: file}}
	return k, nil
}
