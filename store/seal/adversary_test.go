package seal_test

import (
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// TestStoredTwice puts rows next to a pack with the same positions. Readers that begin after the
// first of them would see the rows.
func TestStoredTwice(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"a row":        `INSERT INTO entries SELECT thread_id, 3, 1, 1, 1, '', NULL, x'00' FROM packs`,
		"another pack": `INSERT INTO packs SELECT thread_id, 2, last + 1, entries, bytes, stored, data FROM packs`,
		"no entry":     `DELETE FROM packs`,
	} {
		d := sqliteLog(filepath.Join(t.TempDir(), "log.db"))
		log, o := d.open(t), newOperator(t)
		appendAll(t, log, thread, append(events("r", 10), store.Entry{Stream: "r", Kind: store.End, Data: []byte("eof")}))
		o.sealed(t, log, thread)
		if p, err := log.Pack(t.Context(), thread); err != nil || p.Entries != 11 {
			t.Fatal(p, err)
		}
		if err := log.CheckThread(t.Context(), thread); err != nil {
			t.Error(err)
		}
		d.enter(t, func(b backdoor) { b.exec(change) })
		row := o.verify(t, log, thread)
		if row.Verdict != seal.Rewritten || *row.DiffersFrom != 1 || *row.DiffersTo != 1 || !hasFinding(row.Findings, finding.ThreadDamaged) {
			t.Errorf("%s: %+v", name, row)
		}
		if name == "no entry" {
			appendAll(t, log, thread, events("next", 2))
			if _, err := o.Seal(t.Context(), log, thread); !isFinding(err, finding.ThreadDamaged) {
				t.Errorf("%s: Seal: %v", name, err)
			}
		}
	}
}

// TestOtherOrigin gives checkpoints of other logs and threads.
func TestOtherOrigin(t *testing.T) {
	t.Parallel()
	log, o := memory.New(), newOperator(t)
	appendAll(t, log, thread, events("r", 5))
	o.sealed(t, log, thread)
	o.policy.Name = "agents.example/log"
	if row := o.verify(t, log, thread); row.Verdict != seal.Unchanged {
		t.Errorf("the right name: %+v", row)
	}
	o.policy.Name = "agents.example/other"
	if row := o.verify(t, log, thread); row.Verdict != seal.Unsealed || !hasFinding(row.Findings, finding.SealUntrusted) {
		t.Errorf("another name: %+v", row)
	}
}

// TestMovedThread has the entries and the seals of another tenant's thread.
func TestMovedThread(t *testing.T) {
	t.Parallel()
	from, to, o := memory.New(), memory.New(), newOperator(t)
	moved := store.Key{Tenant: "bob", Thread: thread.Thread}
	appendAll(t, from, thread, events("r", 5))
	s := o.sealed(t, from, thread)
	appendAll(t, to, moved, events("r", 5))
	if err := to.Seal(t.Context(), moved, s.Seal, store.Blocks{}); err != nil {
		t.Fatal(err)
	}
	if row := o.verify(t, to, moved); row.Verdict != seal.Unchanged || !hasFinding(row.Findings, finding.SealOfOtherTenant) {
		t.Errorf("moved: %+v", row)
	}
	for range 2 { // also if nothing was appended
		if _, err := o.Seal(t.Context(), to, moved); !isFinding(err, finding.SealOfOtherTenant) {
			t.Errorf("Seal: %v", err)
		}
		appendAll(t, to, moved, events("more", 2))
	}
	o.OtherTenant = true
	if s := o.sealed(t, to, moved); s.Seal.Size != 9 {
		t.Errorf("Seal: %+v", s)
	}
}

// TestUntrustedCopy gives copies whose seals nobody trusts. Their entries do not count.
func TestUntrustedCopy(t *testing.T) {
	t.Parallel()
	log, o, other := memory.New(), newOperator(t), newOperator(t)
	appendAll(t, log, thread, events("r", 5))
	o.sealed(t, log, thread)
	forged := memory.New()
	appendAll(t, forged, thread, events("other", 5))
	s := other.sealed(t, forged, thread)
	row := o.verify(t, log, thread, seal.Known{From: "a copy", Seals: []store.Seal{s.Seal}, Entries: forged.Read(t.Context(), thread, 0)})
	if row.Verdict != seal.Broken || row.DiffersFrom != nil {
		t.Errorf("%+v", row)
	}
	if _, err := other.Seal(t.Context(), log, thread); !isFinding(err, finding.SealUntrusted) {
		t.Errorf("Seal by another key: %v", err)
	}
}

// TestUnwitnessed demands witnesses of a thread that nobody has sealed.
func TestUnwitnessed(t *testing.T) {
	t.Parallel()
	log, o := memory.New(), newOperator(t)
	appendAll(t, log, thread, events("r", 5))
	o.policy.Quorum = 1
	for _, want := range []project.Verdict{seal.Unsealed, seal.Broken} {
		if row := o.verify(t, log, thread); row.Verdict != want {
			t.Errorf("%+v, want %s", row, want)
		}
		o.sealed(t, log, thread)
	}
}

// TestProveTrusted proves an entry with the first seal that is trusted.
func TestProveTrusted(t *testing.T) {
	t.Parallel()
	log, old, o := memory.New(), newOperator(t), newOperator(t)
	appendAll(t, log, thread, events("r", 5))
	old.sealed(t, log, thread)
	appendAll(t, log, thread, events("s", 5))
	o.Trust = trustIn(t, old.key)
	o.sealed(t, log, thread)
	p, err := seal.Prove(t.Context(), log, thread, 3, nil)
	if err != nil || p.Seal.Size != 5 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = seal.Prove(t.Context(), log, thread, 3, &o.policy); err != nil || p.Seal.Size != 10 {
		t.Errorf("%+v, %v", p, err)
	}
}
