package seal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
)

// What the seals of a thread show.
const (
	// Unchanged means that the entries up to the last trusted seal are those that were sealed.
	Unchanged project.Verdict = "unchanged"
	// Rewritten means that an entry that was sealed is another one now.
	Rewritten project.Verdict = "rewritten"
	// CutOff means that the thread has fewer entries than were sealed.
	CutOff project.Verdict = "cut_off"
	// Forked means that trusted seals contradict each other, so the thread had two histories.
	Forked project.Verdict = "forked"
	// Broken means that a seal is not what a trusted key has signed.
	Broken project.Verdict = "broken"
	// Unsealed means that no trusted seal covers any entry.
	Unsealed project.Verdict = "unsealed"
	// Erased means that the thread was deleted, and that its last seal is trusted.
	Erased project.Verdict = "erased"
)

// Row is the result of verifying a thread.
type Row struct {
	Tenant  string          `json:"tenant"`
	Thread  string          `json:"thread_id"`
	Verdict project.Verdict `json:"verdict"`
	// Entries is the number of entries.
	Entries int64 `json:"entries"`
	// Seals is the number of seals that were compared, of the log and known ones.
	Seals int64 `json:"seals"`
	// Position is the position up to which the entries are those of a trusted seal, or 0.
	Position int64 `json:"position"`
	// Since is the time of that seal, by the clock of its signer.
	Since *string `json:"since"`
	// Signature is what is known of its signatures. It is null if Position is 0.
	Signature *Signature `json:"signature"`
	// DiffersFrom is the position from which on the first difference is, or null if there is
	// none.
	DiffersFrom *int64 `json:"differs_from"`
	// DiffersTo is the position up to which it is. It equals DiffersFrom if the difference
	// was found in an earlier copy of the entries.
	DiffersTo *int64            `json:"differs_to"`
	Findings  []finding.Finding `json:"findings"`
}

// Verify computes the tree of a thread from its entries, and compares it with all seals that the
// log has and with those that the verifier knows. The error is one of the log or of ctx.
func (p *Policy) Verify(ctx context.Context, log store.Log, key store.Key, known ...Known) (Row, error) {
	row, err := p.verify(ctx, log, key, known)
	if errors.Is(err, store.ErrDeleted) { // meanwhile
		row, err = p.verify(ctx, log, key, known)
	}
	return row, err
}

func (p *Policy) verify(ctx context.Context, log store.Log, key store.Key, known []Known) (Row, error) {
	v := &verification{policy: p, ctx: ctx, log: log, key: key, roots: make(map[int64]Hash)}
	v.row = Row{Tenant: key.Tenant, Thread: key.Thread, Findings: []finding.Finding{}}
	err := v.run(known)
	finding.Sort(v.row.Findings)
	return v.row, err
}

// verification is the verification of one thread.
type verification struct {
	policy *Policy
	ctx    context.Context
	log    store.Log
	key    store.Key
	seals  []*opened // that are of the thread
	own    int       // the number of those that the log has
	roots  map[int64]Hash
	// same has the positions whose entries are those of earlier copies, and differs is the first
	// whose entry is not, or 0.
	same    []span
	differs int64
	foreign int // the number of seals of the thread id in another tenant
	row     Row
}

// span has the positions from first to last.
type span struct{ first, last int64 }

func (v *verification) add(code finding.Code, format string, args ...any) {
	v.row.Findings = append(v.row.Findings, finding.New(code, format, args...))
}

func (v *verification) run(known []Known) error {
	t, err := v.log.Thread(v.ctx, v.key)
	lost := errors.Is(err, store.ErrNoThread) && len(known) > 0
	if err != nil && !lost {
		return err
	}
	for s, err := range v.log.Seals(v.ctx, v.key, 0) { // before the entries, which they must not exceed
		if err != nil {
			return err
		}
		v.open(s, fmt.Sprintf("seal %d of the log", s.Size), false)
	}
	v.own = len(v.seals)
	for _, k := range known {
		for i := range k.Seals {
			v.open(&k.Seals[i], fromOf(k), true)
		}
	}
	if v.foreign > 0 {
		v.add(finding.SealOfOtherTenant, "%d of the %d seals are of this thread id in another tenant", v.foreign, v.row.Seals)
	}
	v.row.Entries = t.Last
	if !t.DeletedAt.IsZero() {
		return v.erased(known)
	}
	err = v.log.CheckThread(v.ctx, v.key)
	if err == nil {
		err = v.read()
	}
	if damaged, ok := errors.AsType[*store.DamagedError](err); ok {
		v.damaged(damaged)
		return nil
	}
	if err != nil {
		return err
	}
	for _, k := range known {
		if err := v.compare(k); err != nil {
			return err
		}
	}
	v.conclude()
	return v.ctx.Err()
}

// open judges a seal of the log, or one that is known from elsewhere. Those that are malformed
// or of another thread are findings.
func (v *verification) open(s *store.Seal, from string, known bool) {
	v.row.Seals++
	o := v.policy.open(v.ctx, s, from)
	o.known = known
	if o.Checkpoint != nil {
		switch thread, tenant := o.IsOf(v.key); {
		case !thread, tenant && !o.hasOriginOf(v.key):
			o.found = append(o.found, finding.New(finding.SealOfAnother, "%s is of another thread", from))
			o.Checkpoint = nil
		case !tenant:
			v.foreign++
		}
	}
	for _, f := range o.found {
		if known && f.Code == finding.SealUntrusted {
			f = f.WithSeverity(finding.Error) // the verifier relies on it
		}
		v.row.Findings = append(v.row.Findings, f)
	}
	if o.Checkpoint != nil {
		v.seals = append(v.seals, o)
	}
}

// damaged concludes that entries are missing or stored twice.
func (v *verification) damaged(err *store.DamagedError) {
	r := &v.row
	v.add(finding.ThreadDamaged, "%s", err.Reason)
	r.Verdict, r.DiffersFrom, r.DiffersTo = Broken, &err.Position, &err.Position
	if slices.ContainsFunc(v.seals, func(s *opened) bool { return s.trusted() && s.Checkpoint.Size >= err.Position }) {
		r.Verdict = Rewritten
	}
}

// sizes returns the sizes of all seals, sorted.
func (v *verification) sizes() []int64 {
	var sizes []int64
	for _, s := range v.seals {
		sizes = append(sizes, s.Checkpoint.Size)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// read computes the roots of the sizes of all seals, as far as there are entries.
func (v *verification) read() error {
	h := startHashing(v.sizes())
	defer h.stop()
	for e, err := range v.log.Read(v.ctx, v.key, 0) {
		if err != nil {
			return err
		}
		h.add(e)
	}
	var err error
	v.roots, v.row.Entries, err = h.end()
	return err
}

// compare compares the entries with those of an earlier copy.
func (v *verification) compare(k Known) error {
	if k.Entries == nil || !v.relies(k) {
		return nil
	}
	next, stop := iter.Pull2(v.log.Read(v.ctx, v.key, 0))
	defer stop()
	var e *store.Entry
	var position int64
	for want, err := range k.Entries {
		if err != nil {
			return err
		}
		for position < want.Position {
			found, err, more := next()
			if err != nil {
				return err
			}
			if !more {
				v.differ(position + 1)
				v.add(finding.ThreadCutOff, "%s has the entry %d, and the thread ends with %d", k.From, want.Position, position)
				return nil
			}
			e, position = found, found.Position
		}
		if string(AppendLeaf(nil, e)) != string(AppendLeaf(nil, want)) {
			if v.isSealed(position) {
				v.add(finding.LogFileMalformed, "entry %d of %s is not the one that was sealed: the file was changed, and not the thread", position, k.From)
				return nil
			}
			v.differ(position)
			v.row.Findings = append(v.row.Findings, finding.New(finding.ThreadRewritten, "entry %d is not that of %s", position, k.From).
				WithHint("compare the two entries, and ask whoever can write the database"))
			return nil
		}
		if n := len(v.same); n > 0 && v.same[n-1].last == position-1 {
			v.same[n-1].last = position
		} else {
			v.same = append(v.same, span{position, position})
		}
	}
	return nil
}

// relies reports whether the entries of a copy count: if it has seals, one must be trusted.
func (v *verification) relies(k Known) bool {
	return len(k.Seals) == 0 || slices.ContainsFunc(v.seals[v.own:], func(s *opened) bool { return s.trusted() && s.from == fromOf(k) })
}

func fromOf(k Known) string { return "the seal of " + k.From }

// isSealed reports whether a seal from elsewhere shows that an entry is the one that was sealed.
func (v *verification) isSealed(position int64) bool {
	return slices.ContainsFunc(v.seals[v.own:], func(s *opened) bool { return s.Checkpoint.Size >= position && v.matches(s) })
}

// differ records that an earlier copy has another entry at a position.
func (v *verification) differ(position int64) {
	if v.differs == 0 || position < v.differs {
		v.differs = position
	}
}

// matches reports whether a seal is trusted and the entries are those that were sealed.
func (v *verification) matches(s *opened) bool {
	root, exists := v.roots[s.Checkpoint.Size]
	return s.trusted() && exists && root == s.Root
}

// conclude compares the seals with the tree.
func (v *verification) conclude() {
	slices.SortStableFunc(v.seals, func(a, b *opened) int { return cmp.Compare(a.Checkpoint.Size, b.Checkpoint.Size) })
	var matching, known, own *opened // the last one that matches, and the first ones that do not
	for _, s := range v.seals {
		switch {
		case !s.trusted():
		case v.matches(s):
			matching = s
		case s.known:
			known = cmp.Or(known, s)
		default:
			own = cmp.Or(own, s)
		}
	}
	v.explain(matching, known, own)
	v.settle(matching, "no seal by a trusted key covers any entry", Unchanged)
}

// settle describes the last seal that counts, which may be nil, and sets the verdict, if there is
// none yet.
func (v *verification) settle(last *opened, missing string, good project.Verdict) {
	r := &v.row
	if last != nil {
		r.Position, r.Since, r.Signature = last.Checkpoint.Size, new(artifact.FormatTime(last.Time)), &last.Signature
	}
	switch {
	case r.Verdict != "":
	case finding.Failed(r.Findings):
		r.Verdict = Broken
	case last == nil:
		r.Verdict = Unsealed
		v.add(finding.SealMissing, "%s", missing)
	case !v.witnessed(last):
		r.Verdict = Broken
	default:
		r.Verdict = good
	}
}

// explain explains the first difference, if there is one. known and own are the first seals that
// do not match.
func (v *verification) explain(matching, known, own *opened) {
	from, to := v.locate(known, own)
	if to == 0 {
		return
	}
	r, s := &v.row, cmp.Or(known, own)
	r.DiffersFrom, r.DiffersTo = &from, &to
	for _, other := range []*opened{known, own} {
		if other != nil && matching != nil && matching.Checkpoint.Size >= other.Checkpoint.Size {
			r.Verdict = Forked
			v.add(finding.ThreadForked, "%s was made at %s of other entries than %s; %s", other.from, clock(other), matching.from, between(from, to))
			return
		}
	}
	switch r.Verdict = Rewritten; {
	case to > r.Entries:
		r.Verdict = CutOff
		if to != v.differs {
			v.add(finding.ThreadCutOff, "%s was made at %s of %d entries, and the thread has %d", s.from, clock(s), s.Checkpoint.Size, r.Entries)
		}
	case to != v.differs:
		v.add(finding.ThreadRewritten, "%s was made at %s of other entries; %s", s.from, clock(s), between(from, to))
	}
}

// between says where the first difference is.
func between(from, to int64) string {
	if from == to {
		return fmt.Sprintf("the first difference is at position %d", from)
	}
	return fmt.Sprintf("the first difference is between the positions %d and %d", from, to)
}

func clock(s *opened) string { return s.Time.Format("2006-01-02T15:04:05Z") }

// locate returns the positions between which the first difference is, or 0. Whoever holds the
// key can add seals of other entries to the log. So if what the verifier knows shows a
// difference, only that says where it is.
func (v *verification) locate(known, own *opened) (from, to int64) {
	to = v.differs
	if known != nil && (to == 0 || known.Checkpoint.Size < to || v.row.Entries+1 < to) {
		to = min(known.Checkpoint.Size, v.row.Entries+1)
	}
	all := to == 0
	if all && own != nil {
		to = min(own.Checkpoint.Size, v.row.Entries+1)
	}
	for _, s := range v.seals {
		if s.Checkpoint.Size < to && (s.known || all) && v.matches(s) {
			from = max(from, s.Checkpoint.Size)
		}
	}
	slices.SortFunc(v.same, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, same := range v.same {
		if same.first <= from+1 {
			from = max(from, min(same.last, to-1))
		}
	}
	return from + 1, to
}

// witnessed checks that enough witnesses have cosigned the last seal.
func (v *verification) witnessed(s *opened) bool {
	n := len(s.Cosigners)
	if n < v.policy.Quorum {
		v.add(finding.WitnessMissing, "%d of the %d required witnesses have cosigned the last seal that matches", n, v.policy.Quorum)
	}
	return n >= v.policy.Quorum
}
