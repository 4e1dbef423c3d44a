package seal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/transparency-dev/merkle/proof"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// Proof shows that entries are among those of a seal. It needs neither the log nor the other
// entries.
type Proof struct {
	// Seal has the checkpoint, and the token if the seal has one and the proof can have it.
	Seal store.Seal
	// Entries are the entries that are proved, in their order.
	Entries []*store.Entry

	hashes [][]byte // of the proof of one entry
	run    *runProof
}

// RunSchema is the value of the schema key of the proof of a run.
const RunSchema = "p20export.proof.v1"

// runProof is the file with the proof of a run. The parts of the tree that are not between
// its first and last entry are hashes, and so are the entries of other streams in between.
type runProof struct {
	Schema string `json:"schema"`
	// First is the position of the first element of Leaves.
	First int64 `json:"first"`
	// Leaves has what the tree has between the first and the last entry of the run.
	Leaves []leafOf `json:"leaves"`
	// Before and After have the hashes of the parts before and after them.
	Before [][]byte `json:"before"`
	After  [][]byte `json:"after"`
	// Checkpoint is the signed checkpoint.
	Checkpoint string `json:"checkpoint"`
	// Token is the time-stamp token over the checkpoint, if there is one.
	Token []byte `json:"token,omitempty"`
}

// leafOf is a leaf, or the hash of one.
type leafOf struct {
	Leaf []byte `json:"leaf,omitempty"`
	Hash []byte `json:"hash,omitempty"`
}

// Prove returns the proof that a thread has the entry at a position, with the first seal that
// covers it or, with a policy, the first that it trusts. The error is the finding seal_missing if
// there is none.
func Prove(ctx context.Context, log store.Log, key store.Key, position int64, policy *Policy) (*Proof, error) {
	t, sealed, err := covering(ctx, log, key, position, policy)
	if err != nil {
		return nil, err
	}
	p := &Proof{Seal: sealed.Seal}
	for e, err := range log.Read(ctx, key, position-1) {
		if err != nil {
			return nil, err
		}
		p.Entries = append(p.Entries, clone(e))
		break
	}
	if p.Entries == nil {
		return nil, t.missing(position)
	}
	size := uint64(sealed.Seal.Size)
	nodes, err := proof.Inclusion(uint64(position-1), size)
	if err != nil {
		return nil, err
	}
	hashes, err := t.nodes(ctx, nodes.IDs)
	if err != nil {
		return nil, err
	}
	if p.hashes, err = nodes.Rehash(hashes, hashNode); err != nil {
		return nil, err
	}
	// The tree is that of the seal. That of the entry need not be: the hash of its block is kept.
	root, err := proof.RootFromInclusionProof(hasher{}, uint64(position-1), size, hashLeaf(AppendLeaf(nil, p.Entries[0])), p.hashes)
	if err == nil && Hash(root) != sealed.Root {
		err = rewritten(key, sealed)
	}
	return p, err
}

// ProveRun is like Prove for the events of a run and its request.
func ProveRun(ctx context.Context, log store.Log, key store.Key, run *store.Run, policy *Policy) (*Proof, error) {
	first := run.Start
	if run.Input > 0 {
		first = min(first, run.Input)
	}
	t, sealed, err := covering(ctx, log, key, run.Last, policy)
	if err != nil {
		return nil, err
	}
	p := &Proof{Seal: sealed.Seal, run: &runProof{
		Schema: RunSchema, First: first, Checkpoint: string(sealed.Seal.Checkpoint), Token: sealed.Token,
	}}
	f := factory() // parts can only be joined if they are of one
	all, err := t.part(ctx, f, 0, first-1)
	if err != nil {
		return nil, err
	}
	p.run.Before = slices.Clone(all.Hashes())
	for e, err := range log.Read(ctx, key, first-1) {
		if err != nil {
			return nil, err
		}
		leaf := AppendLeaf(nil, e)
		if err := all.Append(hashLeaf(leaf), nil); err != nil {
			return nil, err
		}
		if e.Run == run.Start || e.Position == run.Input {
			p.Entries = append(p.Entries, clone(e))
			p.run.Leaves = append(p.run.Leaves, leafOf{Leaf: leaf})
		} else {
			p.run.Leaves = append(p.run.Leaves, leafOf{Hash: hashLeaf(leaf)})
		}
		if e.Position == run.Last {
			break
		}
	}
	if all.End() != uint64(run.Last) {
		return nil, t.missing(run.Last)
	}
	after, err := t.part(ctx, f, run.Last, sealed.Seal.Size)
	if err != nil {
		return nil, err
	}
	p.run.After = slices.Clone(after.Hashes())
	if err := all.AppendRange(after, nil); err != nil {
		return nil, err
	}
	// The hashes of the blocks of these entries may be kept ones.
	root, err := rootOf(all)
	if err == nil && root != sealed.Root {
		err = rewritten(key, sealed)
	}
	return p, err
}

func clone(e *store.Entry) *store.Entry {
	c := *e
	c.Data = bytes.Clone(e.Data)
	return &c
}

// covering returns the first seal that covers a position and that the policy, if there is one,
// trusts. The tree matches it.
func covering(ctx context.Context, log store.Log, key store.Key, position int64, policy *Policy) (*tree, *Sealed, error) {
	th, err := log.Thread(ctx, key)
	switch {
	case err != nil:
		return nil, nil, err
	case !th.DeletedAt.IsZero():
		return nil, nil, store.ErrDeleted
	case position < 1 || position > th.Last:
		if position > 0 && position <= th.Sealed {
			return nil, nil, finding.New(finding.ThreadCutOff, "a seal is of %d entries, and thread %s has %d", th.Sealed, finding.Quote(key.Thread), th.Last)
		}
		return nil, nil, fmt.Errorf("thread %s has no position %d: its last is %d", finding.Quote(key.Thread), position, th.Last)
	}
	for s, err := range log.Seals(ctx, key, position-1) {
		if err != nil {
			return nil, nil, err
		}
		if policy != nil && !policy.open(ctx, s, nameOf(s)).trusted() {
			continue
		}
		sealed, err := sealedOf(s)
		if err != nil {
			return nil, nil, err
		}
		w := work{tree: tree{log: log, key: key}}
		if err := w.keep(ctx, s.Size); err != nil {
			return nil, nil, err
		}
		return &w.tree, sealed, w.compare(ctx, s.Size, th.Last)
	}
	return nil, nil, finding.New(finding.SealMissing, "no seal covers position %d of thread %s; it is sealed up to %d", position, finding.Quote(key.Thread), th.Sealed)
}

// proofHeader begins the proof of one entry (C2SP tlog-proof).
const proofHeader = "c2sp.org/tlog-proof@v1\n"

// Encode returns the file with the proof. The proof of one entry is a C2SP tlog-proof, whose
// extra data is the leaf; it cannot have the token. That of a run is a JSON object.
func (p *Proof) Encode() ([]byte, error) {
	if p.run != nil {
		b, err := json.Marshal(p.run)
		return append(b, '\n'), err
	}
	e := p.Entries[0]
	b := append([]byte(proofHeader), "extra "...)
	b = append(base64.StdEncoding.AppendEncode(b, AppendLeaf(nil, e)), '\n')
	b = fmt.Appendf(b, "index %d\n", e.Position-1)
	for _, h := range p.hashes {
		b = append(base64.StdEncoding.AppendEncode(b, h), '\n')
	}
	return append(append(b, '\n'), p.Seal.Checkpoint...), nil
}

// MaxProofBytes is the maximum size of a proof that is read.
const MaxProofBytes = 256 << 20

// DecodeProof reads a proof. The error is the finding proof_malformed, or proof_broken if the
// proof does not lead to the root of the checkpoint. Who has signed that is for CheckProof.
func DecodeProof(file []byte) (*Proof, error) {
	p := &Proof{}
	root := p.entryRoot
	if bytes.HasPrefix(file, []byte("{")) {
		root = p.runRoot
	}
	size, computed, err := root(file)
	if err != nil {
		return nil, finding.New(finding.ProofMalformed, "%s", finding.Printable(err.Error()))
	}
	c, err := textOf(p.Seal.Checkpoint)
	if err != nil {
		return nil, finding.New(finding.SealMalformed, "%s", finding.Printable(err.Error()))
	}
	if again, err := p.Encode(); err != nil || !bytes.Equal(again, file) {
		return nil, finding.New(finding.ProofMalformed, "it is not in its only form")
	}
	p.Seal.Size = c.Size
	if hash, err := computed(c.Size); err != nil || hash != c.Root || size > c.Size {
		return nil, finding.New(finding.ProofBroken, "the hashes do not lead from the %d entries to the root of the checkpoint", len(p.Entries))
	}
	return p, nil
}

// entryRoot reads the proof of an entry. It returns the position, and a function that computes
// the root of a tree of a size.
func (p *Proof) entryRoot(file []byte) (int64, func(size int64) (Hash, error), error) {
	rest, ok := bytes.CutPrefix(file, []byte(proofHeader))
	if !ok {
		if _, err := textOf(file); err == nil {
			return 0, nil, errors.New("it is a checkpoint, and not a proof")
		}
		return 0, nil, errors.New("it does not begin with the header of a tlog-proof, nor with {")
	}
	head, checkpoint, ok := bytes.Cut(rest, []byte("\n\n"))
	if !ok {
		return 0, nil, errors.New("it has no checkpoint")
	}
	p.Seal.Checkpoint = checkpoint
	lines := bytes.Split(head, []byte("\n"))
	if len(lines) < 2 || len(lines) > 2+64 {
		return 0, nil, errors.New("it does not have the lines extra and index and at most 64 hashes")
	}
	extra, ok := bytes.CutPrefix(lines[0], []byte("extra "))
	leaf, err := base64.StdEncoding.DecodeString(string(extra))
	if !ok || err != nil {
		return 0, nil, errors.New("the line extra does not have the leaf of an entry in Base64")
	}
	e, err := DecodeLeaf(leaf)
	if err != nil {
		return 0, nil, err
	}
	if index, ok := bytes.CutPrefix(lines[1], []byte("index ")); !ok || string(index) != strconv.FormatInt(e.Position-1, 10) {
		return 0, nil, errors.New("the line index is not that of the entry")
	}
	for _, line := range lines[2:] {
		h, err := base64.StdEncoding.DecodeString(string(line))
		if err != nil || len(h) != tlog.HashSize {
			return 0, nil, errors.New("a line with a hash is not a SHA-256 in Base64")
		}
		p.hashes = append(p.hashes, h)
	}
	p.Entries = []*store.Entry{e}
	return e.Position, func(size int64) (Hash, error) {
		if size < e.Position {
			return Hash{}, errLeaf
		}
		root, err := proof.RootFromInclusionProof(hasher{}, uint64(e.Position-1), uint64(size), hashLeaf(leaf), p.hashes)
		return Hash(append(root, make([]byte, tlog.HashSize)...)), err
	}, nil
}

// hasher is a merkle.LogHasher.
type hasher struct{}

func (hasher) EmptyRoot() []byte               { return nil }
func (hasher) HashLeaf(leaf []byte) []byte     { return hashLeaf(leaf) }
func (hasher) HashChildren(l, r []byte) []byte { return hashNode(l, r) }
func (hasher) Size() int                       { return tlog.HashSize }

// runRoot is like entryRoot, for the proof of a run.
func (p *Proof) runRoot(file []byte) (int64, func(size int64) (Hash, error), error) {
	r := &runProof{}
	if err := strictjson.Explain(json.Unmarshal(file, r, json.RejectUnknownMembers(true)), "the proof of a run"); err != nil {
		return 0, nil, err
	}
	if r.Schema != RunSchema || r.First < 1 || r.First > 1<<62 || len(r.Leaves) == 0 {
		return 0, nil, fmt.Errorf("the schema is not %s, or there is no entry", RunSchema)
	}
	p.run, p.Seal.Checkpoint, p.Seal.Token = r, []byte(r.Checkpoint), r.Token
	begin, end := r.First-1, r.First-1+int64(len(r.Leaves))
	f := factory() // parts can only be joined if they are of one
	all, err := f.NewRange(0, uint64(begin), slices.Clone(r.Before))
	if err != nil || !areHashes(r.Before) || !areHashes(r.After) {
		return 0, nil, errors.New("the hashes before or after the entries are not those of their positions")
	}
	for i, leaf := range r.Leaves {
		hash := leaf.Hash
		if leaf.Leaf != nil {
			e, err := DecodeLeaf(leaf.Leaf)
			if err != nil {
				return 0, nil, err
			}
			if e.Position != r.First+int64(i) {
				return 0, nil, fmt.Errorf("the entry %d is at the position %d", e.Position, r.First+int64(i))
			}
			p.Entries, hash = append(p.Entries, e), hashLeaf(leaf.Leaf)
		}
		if leaf.Leaf != nil && leaf.Hash != nil || !areHashes([][]byte{hash}) {
			return 0, nil, errors.New("there is neither an entry nor the hash of one, or both")
		}
		if err := all.Append(hash, nil); err != nil {
			return 0, nil, err
		}
	}
	if len(p.Entries) == 0 {
		return 0, nil, errors.New("it has no entry")
	}
	return end, func(size int64) (Hash, error) {
		if size < end {
			return Hash{}, errLeaf
		}
		after, err := f.NewRange(uint64(end), uint64(size), slices.Clone(r.After))
		if err == nil {
			err = all.AppendRange(after, nil)
		}
		if err != nil {
			return Hash{}, err
		}
		return rootOf(all)
	}, nil
}

func areHashes(list [][]byte) bool {
	for _, h := range list {
		if len(h) != tlog.HashSize {
			return false
		}
	}
	return true
}

// Hidden returns the number of entries between the first and the last whose hashes alone are in
// the proof. Whoever has a proof can hide further ones.
func (p *Proof) Hidden() int {
	n := int(p.Entries[len(p.Entries)-1].Position-p.Entries[0].Position) + 1
	return n - len(p.Entries)
}

// Checkpoint returns the checkpoint of a proof without judging its signatures.
func (p *Proof) Checkpoint() (*Checkpoint, error) { return textOf(p.Seal.Checkpoint) }

// CheckProof judges the signatures of the checkpoint of a proof. Who checks a proof of a thread
// whose id is known compares it with the digests of the checkpoint: see Checkpoint.IsOf.
func (p *Policy) CheckProof(ctx context.Context, proof *Proof) (*Checkpoint, Signature, []finding.Finding) {
	o := p.open(ctx, &proof.Seal, "the seal")
	if o.Signer == nil && !finding.Failed(o.found) {
		o.found = append(o.found, finding.New(finding.SealMissing, "no trusted key has signed the checkpoint of the proof"))
	}
	if n := len(o.Cosigners); n < p.Quorum {
		o.found = append(o.found, finding.New(finding.WitnessMissing, "%d of the %d required witnesses have cosigned the checkpoint", n, p.Quorum))
	}
	return o.Checkpoint, o.Signature, o.found
}
