package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
)

// Settings say how threads are sealed.
type Settings struct {
	// Name is the name of the log, which begins the origins of the trees: see OriginOf.
	Name string
	// Signers sign each seal with Ed25519 keys, at least one.
	Signers []sign.Signer
	// Trust has the public keys of others whose seals a new one may follow, such as keys that
	// were used before. It may be nil.
	Trust *sign.Trust
	// OtherTenant allows to follow a seal of the thread id in another tenant, from which the
	// thread was imported.
	OtherTenant bool
	// Authority is the http or https URL of a time-stamp authority (RFC 3161), or empty.
	Authority string
	// Witnesses are the http or https URLs of the witnesses that must cosign each seal,
	// without add-checkpoint. One of WitnessKeys must verify each answer.
	Witnesses   []string
	WitnessKeys []WitnessKey
}

// Check returns an error if nothing can be sealed with the settings.
func (s *Settings) Check() error {
	if err := CheckOrigin(s.Name); err != nil {
		return fmt.Errorf("the name of the log: %w", err)
	}
	if len(s.Signers) == 0 {
		return errors.New("there is no key that signs seals")
	}
	for _, by := range s.Signers {
		if by.Public().Ed25519() == nil {
			return ErrKeyType
		}
	}
	if len(s.Witnesses) > 0 && len(s.WitnessKeys) == 0 {
		return errors.New("there is no key of a witness, so no cosignature could be verified")
	}
	return nil
}

// Sealed is the seal of a thread.
type Sealed struct {
	*Checkpoint
	store.Seal
	// New reports whether it was added now. Otherwise nothing was appended since it was made.
	New bool
	// Cosigners are the names of the witnesses that have cosigned a new one.
	Cosigners []string
	// NotLaterThan is the time of the token of a new one, which is not verified.
	NotLaterThan time.Time
}

// Seal seals all entries that a thread has now. The seal is in the log when Seal returns. If
// nothing was appended since the last one, Seal returns that.
//
// Before it signs, Seal checks that one of its keys or of those in Trust has signed the last
// seal, and compares the entries with that. It reads those that follow the last kept block;
// that earlier ones were not changed is for Verify to find out. The error is a finding, for
// example thread_rewritten, or one of the log.
func (s *Settings) Seal(ctx context.Context, log store.Log, key store.Key) (*Sealed, error) {
	sealed, err := s.seal(ctx, log, key)
	if damaged, ok := errors.AsType[*store.DamagedError](err); ok {
		err = finding.New(finding.ThreadDamaged, "%s", damaged.Reason)
	}
	return sealed, err
}

func (s *Settings) seal(ctx context.Context, log store.Log, key store.Key) (*Sealed, error) {
	t, err := log.Thread(ctx, key)
	if err != nil {
		return nil, err
	}
	if !t.DeletedAt.IsZero() {
		return nil, store.ErrDeleted
	}
	w := work{settings: s, tree: tree{log: log, key: key}}
	if err := w.keep(ctx, t.Sealed); err != nil {
		return nil, err
	}
	if err := w.compare(ctx, t.Sealed, t.Last); err != nil {
		return nil, err
	}
	if t.Sealed == t.Last {
		return sealOf(ctx, log, key, t.Last)
	}
	return w.seal(ctx, t.Last, t.Sealed)
}

// sealOf returns the seal of a thread that has a given size.
func sealOf(ctx context.Context, log store.Log, key store.Key, size int64) (*Sealed, error) {
	for found, err := range log.Seals(ctx, key, size-1) {
		if err != nil {
			return nil, err
		}
		return sealedOf(found)
	}
	return nil, fmt.Errorf("thread %q has no seal of %d entries", key.Thread, size)
}

// sealedOf reads a seal of a log.
func sealedOf(found *store.Seal) (*Sealed, error) {
	c, err := Open(found)
	if err != nil {
		return nil, err
	}
	return &Sealed{Checkpoint: c, Seal: *found}, nil
}

// textOf returns the checkpoint of a signed one without judging its signatures.
func textOf(signed []byte) (*Checkpoint, error) {
	_, err := openNote(signed)
	unverified, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok {
		return nil, err
	}
	return parseCheckpoint(unverified.Note.Text)
}

// work is the making of one seal.
type work struct {
	settings *Settings
	tree     tree
	kept     int64 // blocks that the log keeps
}

// keep uses the blocks that the log keeps, as far as a seal of a size covers them: compare checks
// only these, so others could be wrong.
func (w *work) keep(ctx context.Context, size int64) error {
	blocks, err := w.tree.log.Blocks(ctx, w.tree.key)
	w.kept = min(int64(len(blocks))/store.BlockHashBytes, size/store.BlockEntries)
	w.tree.blocks = slices.Clip(blocks[:w.kept*store.BlockHashBytes])
	return err
}

// compare returns a finding if the entries, up to the last position, differ from the seal of a size.
func (w *work) compare(ctx context.Context, size, last int64) error {
	if size == 0 {
		return nil
	}
	before, err := sealOf(ctx, w.tree.log, w.tree.key, size)
	if err != nil {
		return err
	}
	if w.settings != nil {
		if err := w.settings.checkBefore(before, w.tree.key); err != nil {
			return err
		}
	}
	if last < size {
		return cutOff(before, last)
	}
	root, err := w.tree.root(ctx, size)
	if err == nil && root != before.Root && w.kept > 0 {
		// The kept blocks may be wrong.
		w.tree.blocks, w.tree.leaves = nil, nil
		root, err = w.tree.root(ctx, size)
	}
	if err == nil && root != before.Root {
		err = rewritten(w.tree.key, before)
	}
	return err
}

// cutOff returns the finding for a thread that has fewer entries than were sealed.
func cutOff(before *Sealed, last int64) error {
	return finding.New(finding.ThreadCutOff, "the last seal is of %d entries, and the thread has %d", before.Seal.Size, last)
}

// checkBefore returns a finding unless a seal is of a thread and a known key has signed it.
func (s *Settings) checkBefore(before *Sealed, key store.Key) error {
	switch thread, tenant := before.IsOf(key); {
	case !thread, tenant && !before.hasOriginOf(key):
		return finding.New(finding.SealOfAnother, "the last seal is of another thread; no new seal is made")
	case !tenant && !s.OtherTenant:
		return finding.New(finding.SealOfOtherTenant, "the last seal is of this thread id in another tenant; no new seal is made").WithSeverity(finding.Error)
	}
	var verifiers []note.Verifier
	add := func(key *sign.PublicKey) {
		if v, err := verifierOf(before.Origin, key); err == nil {
			verifiers = append(verifiers, v)
		}
	}
	for _, by := range s.Signers {
		add(by.Public())
	}
	if s.Trust != nil {
		for by, key := range s.Trust.Trusted() {
			if !slices.ContainsFunc(s.Signers, func(own sign.Signer) bool { return own.Public().ID == by.KeyID }) {
				add(key)
			}
		}
	}
	if _, err := openNote(before.Seal.Checkpoint, verifiers...); err != nil {
		return finding.New(finding.SealUntrusted, "no known key has signed the last seal, which is of %d entries; no new seal is made", before.Seal.Size).WithSeverity(finding.Error)
	}
	return nil
}

// rewritten returns the finding for a thread whose entries are not those of a seal.
func rewritten(key store.Key, sealed *Sealed) error {
	return finding.New(finding.ThreadRewritten, "the first %d entries of thread %s are not those that were sealed at %s",
		sealed.Checkpoint.Size, finding.Quote(key.Thread), sealed.Time.Format(time.RFC3339))
}

// seal makes the seal of the first entries and adds it to the log.
func (w *work) seal(ctx context.Context, size, before int64) (*Sealed, error) {
	s, key := w.settings, w.tree.key
	root, err := w.tree.root(ctx, size)
	if err != nil {
		return nil, err
	}
	made := &Sealed{New: true, Checkpoint: &Checkpoint{
		Origin: OriginOf(s.Name, key), Size: size, Root: root,
		Tenant: digest.Of([]byte(key.Tenant)), Thread: digest.Of([]byte(key.Thread)),
		Time: time.Now().UTC().Truncate(time.Second),
	}}
	made.Seal.Size = size
	if made.Seal.Checkpoint, err = signText(ctx, made.Origin, made.Checkpoint.String(), s.Signers); err != nil {
		return nil, err
	}
	for _, url := range s.Witnesses {
		if err := w.cosign(ctx, url, made, before); err != nil {
			return nil, err
		}
	}
	if s.Authority != "" {
		if made.Token, made.NotLaterThan, err = sign.Stamp(ctx, s.Authority, made.Seal.Checkpoint); err != nil {
			return nil, err
		}
	}
	blocks, err := w.tree.newBlocks(ctx, w.kept, size)
	if err != nil {
		return nil, err
	}
	err = w.tree.log.Seal(ctx, key, made.Seal, blocks)
	if errors.Is(err, store.ErrSealed) { // by another process, meanwhile
		other, err := sealOf(ctx, w.tree.log, key, size)
		if err == nil {
			err = s.checkBefore(other, key)
		}
		if err == nil && other.Root != root {
			err = finding.New(finding.ThreadRewritten, "another process has sealed the first %d entries of thread %s, and they were others", size, finding.Quote(key.Thread))
		}
		return other, err
	}
	return made, err
}
