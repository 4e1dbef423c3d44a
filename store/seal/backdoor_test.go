package seal_test

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/sqlite"
)

// backdoor changes a database as its owner, without triggers.
type backdoor struct {
	testing.TB
	tx *sql.Tx
}

func (b backdoor) exec(query string, args ...any) {
	b.Helper()
	if _, err := b.tx.ExecContext(b.Context(), query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

func (b backdoor) id(key store.Key) (id int64) {
	b.Helper()
	if err := b.tx.QueryRowContext(b.Context(), `SELECT id FROM threads WHERE tenant = $1 AND thread = $2`, key.Tenant, key.Thread).Scan(&id); err != nil {
		b.Fatal(err)
	}
	return id
}

// streams returns the numbers of streams, and adds those that do not exist.
func (b backdoor) streams(id int64, entries []*store.Entry) map[string]int64 {
	b.Helper()
	rows, err := b.tx.QueryContext(b.Context(), `SELECT number, stream FROM streams WHERE thread_id = $1`, id)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	numbers := make(map[string]int64)
	var last int64
	for rows.Next() {
		var number int64
		var stream string
		if err := rows.Scan(&number, &stream); err != nil {
			b.Fatal(err)
		}
		numbers[stream], last = number, max(last, number)
	}
	for _, e := range entries {
		if numbers[e.Stream] == 0 {
			last++
			numbers[e.Stream] = last
			b.exec(`INSERT INTO streams (thread_id, number, stream, entries, first, last, ended, input, input_parent, run) VALUES ($1, $2, $3, 1, $4, $4, 0, 0, '', 0)`, id, last, e.Stream, e.Position)
		}
	}
	return numbers
}

func kindNumber(k store.Kind) int {
	return 1 + slices.Index([]store.Kind{store.Event, store.Input, store.Closing, store.End}, k)
}

// write replaces all entries of a thread. The first ones are packed.
func (b backdoor) write(key store.Key, entries []*store.Entry, packed int) {
	b.Helper()
	id := b.id(key)
	numbers := b.streams(id, entries)
	b.exec(`DELETE FROM entries WHERE thread_id = $1`, id)
	b.exec(`DELETE FROM packs WHERE thread_id = $1`, id)
	var chunk []byte
	var bytes, total int
	for i, e := range entries {
		total += len(e.Data)
		var arrived *int64
		if !e.Arrived.IsZero() {
			arrived = new(e.Arrived.UnixMicro())
		}
		if i >= packed {
			b.exec(`INSERT INTO entries (thread_id, position, run, stream_number, kind, type, arrived_at, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
				id, e.Position, e.Run, numbers[e.Stream], kindNumber(e.Kind), e.Type, arrived, e.Data)
			continue
		}
		bytes += len(e.Data)
		chunk = binary.AppendUvarint(chunk, uint64(e.Run))
		chunk = binary.AppendUvarint(chunk, uint64(numbers[e.Stream]))
		if arrived == nil {
			chunk = append(chunk, byte(kindNumber(e.Kind)))
		} else {
			chunk = binary.AppendVarint(append(chunk, byte(kindNumber(e.Kind)|128)), *arrived)
		}
		chunk = append(binary.AppendUvarint(chunk, uint64(len(e.Type))), e.Type...)
		chunk = append(binary.AppendUvarint(chunk, uint64(len(e.Data))), e.Data...)
	}
	if packed > 0 {
		z, err := zstd.NewWriter(nil)
		if err != nil {
			b.Fatal(err)
		}
		data := z.EncodeAll(chunk, nil)
		b.exec(`INSERT INTO packs (thread_id, first, last, entries, bytes, stored, data) VALUES ($1, 1, $2, $2, $3, $4, $5)`, id, packed, bytes, len(data), data)
	}
	b.exec(`UPDATE threads SET last = $2, bytes = $3, packed = $4 WHERE id = $1`, id, len(entries), total, packed)
}

// seal replaces the seals of a thread.
func (b backdoor) seal(key store.Key, seals []store.Seal) {
	b.Helper()
	id := b.id(key)
	b.exec(`DELETE FROM seals WHERE thread_id = $1`, id)
	for _, s := range seals {
		b.exec(`INSERT INTO seals (thread_id, size, checkpoint) VALUES ($1, $2, $3)`, id, s.Size, s.Checkpoint)
	}
}

// remove removes every trace of a thread.
func (b backdoor) remove(key store.Key) {
	b.Helper()
	id := b.id(key)
	for _, table := range []string{"entries", "packs", "runs", "streams", "seals", "blocks", "derived"} {
		b.exec(`DELETE FROM `+table+` WHERE thread_id = $1`, id)
	}
	b.exec(`DELETE FROM threads WHERE id = $1`, id)
}

// database is a kind of database.
type database struct {
	// open opens a log.
	open func(t testing.TB) store.Log
	// enter opens the back door.
	enter func(t testing.TB, do func(backdoor))
}

// tamperWith fills a database with threads, tampers with each, and judges them.
func tamperWith(t *testing.T, d database, o *operator, seed uint64) []seen {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 38))
	other := newOperator(t)
	log := d.open(t)
	var victims []*victim
	for i := range *cases {
		v := &victim{key: store.Key{Tenant: []string{"", "a tenant"}[i%2], Thread: fmt.Sprint("thread ", i)}}
		grown := memory.New()
		v.growOld(t, r, grown, o)
		v.learn(r, readAll(t, grown, v.key))
		victims = append(victims, v)
	}
	var appends sync.WaitGroup // at the same time, because they then share transactions
	for i, v := range victims {
		appends.Go(func() {
			var entries []store.Entry
			for _, e := range v.entries {
				entries = append(entries, *e)
			}
			_, err := log.Append(t.Context(), v.key, 0, entries)
			if err == nil && i%8 == 0 {
				_, err = log.Pack(t.Context(), v.key)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	appends.Wait()
	d.enter(t, func(b backdoor) {
		for _, v := range victims {
			b.seal(v.key, v.seals)
		}
	})
	for _, v := range victims {
		isUnchanged(t, o, log, v.key, "before", seal.Known{From: "a mail", Seals: v.known})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	names, afters, firsts := make([]string, len(victims)), make([][]*store.Entry, len(victims)), make([]int64, len(victims))
	d.enter(t, func(b backdoor) {
		for i, v := range victims {
			names[i], afters[i], firsts[i] = tamper(b, r, v, victims[max(i-1, 0)], o, other, afters[max(i-1, 0)])
		}
	})
	log = d.open(t)
	var all []seen
	counts := make(map[string]int)
	for i, v := range victims {
		after := readAll(t, log, v.key)
		if got := difference(v.entries, after); got != firsts[i] {
			t.Fatalf("%s: the first difference is %d, and should be %d", names[i], got, firsts[i])
		}
		all = append(all, v.judge(t, o, log, names[i], after, firsts[i]))
		counts[names[i]]++
	}
	t.Logf("%d cases of %d ways", len(all), len(counts))
	return all
}

// tamper tampers with one thread.
func tamper(b backdoor, r *rand.Rand, v, before *victim, o, other *operator, others []*store.Entry) (name string, after []*store.Entry, first int64) {
	b.Helper()
	switch r.IntN(20) {
	case 0:
		b.remove(v.key)
		return "removed", nil, 1
	case 1: // with an entry of another thread, or the other way round
		after = clones(v.entries)
		from := before.entries
		if len(others) > 0 {
			from = others
		}
		e := *from[r.IntN(len(from))]
		i := r.IntN(v.limit())
		after = slices.Insert(after, i, &e)
		for j, e := range after {
			e.Position = int64(j + 1)
		}
		first, name = difference(v.entries, after), "an entry of another thread"
	default:
		name, after, first = v.change(r)
	}
	covered, seals := v.cover(b, r, o, other, after)
	packed := 0
	if r.IntN(2) == 0 {
		packed = r.IntN(len(after) + 1)
	}
	b.write(v.key, after, packed)
	b.seal(v.key, seals)
	return name + ", " + covered, after, first
}

// sqliteLog is a database of SQLite in a file.
func sqliteLog(file string) database {
	return database{
		open: func(t testing.TB) store.Log {
			t.Helper()
			log, err := sqlite.Open(t.Context(), file, true)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { log.Close() })
			return log
		},
		enter: func(t testing.TB, do func(backdoor)) {
			t.Helper()
			db, err := sql.Open("sqlite", "file:"+file)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			b := backdoor{t, tx}
			var triggers, drop string
			if err := tx.QueryRowContext(t.Context(), `SELECT group_concat(sql, ';'), group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'`).Scan(&triggers, &drop); err != nil {
				t.Fatal(err)
			}
			b.exec(drop)
			do(b)
			b.exec(triggers) // so that nobody notices
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// TestTamperedSQLite tampers with the threads of a log in a file.
func TestTamperedSQLite(t *testing.T) {
	t.Parallel()
	tamperWith(t, sqliteLog(filepath.Join(t.TempDir(), "log.db")), newOperator(t), 1)
}
