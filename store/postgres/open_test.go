//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store"
)

// TestPostgresOpen checks which databases are accepted, and what is created.
func TestPostgresOpen(t *testing.T) {
	t.Parallel()
	s := shared(t)
	conn := connect(t, s.url)

	none := s.schema()
	for range 2 { // the first attempt creates nothing
		if _, err := Open(t.Context(), none, false); !errors.Is(err, store.ErrNoLog) {
			t.Errorf("a schema that does not exist: %v, want ErrNoLog", err)
		}
	}
	noDatabase := strings.Replace(s.url, "/postgres?", "/none?", 1)
	for _, create := range []bool{false, true} {
		// ErrNoLog would say that Open can create it.
		_, err := Open(t.Context(), noDatabase, create)
		if err == nil || errors.Is(err, store.ErrNoLog) || !strings.Contains(err.Error(), `create the database with createdb: FATAL: database "none" does not exist`) {
			t.Errorf("a database that does not exist: %v, want advice", err)
		}
	}

	other := s.schema()
	run(t, conn, "CREATE SCHEMA "+schemaOf(other)+"; CREATE TABLE "+schemaOf(other)+".entries (x int)")
	for _, create := range []bool{false, true} {
		if _, err := Open(t.Context(), other, create); !errors.Is(err, store.ErrNotLog) {
			t.Errorf("a schema with other tables: %v, want ErrNotLog", err)
		}
	}

	newer := s.schema()
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	run(t, conn, "INSERT INTO "+schemaOf(newer)+".goose_db_version (version_id, is_applied) VALUES (999, true)")
	for _, create := range []bool{false, true} {
		if _, err := Open(t.Context(), newer, create); !errors.Is(err, store.ErrNewer) {
			t.Errorf("tables of a newer program: %v, want ErrNewer", err)
		}
	}

	run(t, conn, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
	if _, err := Open(t.Context(), strings.Replace(s.url, "/postgres?", "/latin?", 1), true); err == nil || !strings.Contains(err.Error(), "UTF8 is needed") {
		t.Errorf("a database in LATIN1: %v, want that it is refused", err)
	}
}

// schemaOf returns the schema of a URL of server.schema.
func schemaOf(url string) string {
	return url[strings.LastIndex(url, "=")+1:]
}

// TestPostgresServerVersion checks which versions of PostgreSQL are refused.
func TestPostgresServerVersion(t *testing.T) {
	t.Parallel()
	if err := checkServer(140013, "14.13 (Debian 14.13-1)", "UTF8"); err == nil || err.Error() != "the server is PostgreSQL 14.13 (Debian 14.13-1), but PostgreSQL 15 or newer is needed" {
		t.Errorf("PostgreSQL 14: %v", err)
	}
	for _, version := range []int{150000, 180001} {
		if err := checkServer(version, "", "UTF8"); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// TestPostgresCreatedAtOnce opens a log that does not exist many times at once.
func TestPostgresCreatedAtOnce(t *testing.T) {
	t.Parallel()
	for range 3 {
		url := shared(t).schema()
		var opening sync.WaitGroup
		for i := range 6 {
			opening.Go(func() {
				log, err := Open(t.Context(), url, true)
				if err != nil {
					t.Error(err)
					return
				}
				defer log.Close()
				if _, err := log.Append(t.Context(), store.Key{Thread: fmt.Sprint(i)}, 0, numbered(0, 1)); err != nil {
					t.Error(err)
				}
			})
		}
		opening.Wait()
	}
}

// TestPostgresRights uses a log as a user who may not create or change tables.
func TestPostgresRights(t *testing.T) {
	t.Parallel()
	s := shared(t)
	link := s.schema()
	schema := schemaOf(link)
	fill(t, open(t, link), "a", 6)
	conn := connect(t, s.url)
	user := "user_" + schema
	run(t, conn, fmt.Sprintf(`CREATE USER %[1]s PASSWORD 'sekret'; GRANT USAGE ON SCHEMA %[2]s TO %[1]s;
		GRANT SELECT ON ALL TABLES IN SCHEMA %[2]s TO %[1]s;
		GRANT INSERT, UPDATE, DELETE ON %[2]s.threads, %[2]s.streams, %[2]s.runs, %[2]s.entries, %[2]s.packs, %[2]s.seals, %[2]s.blocks, %[2]s.derived TO %[1]s`, user, schema))
	operator, policy := newOperator(t)
	parsed, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(user, "sekret")
	for _, create := range []bool{false, true} {
		log, err := Open(t.Context(), parsed.String(), create)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, log, fmt.Sprint("b", create), 6)
		if _, err := log.Append(t.Context(), store.Key{Thread: fmt.Sprint("b", create)}, 6, []store.Entry{{Stream: "s", Kind: store.End}}); err != nil {
			t.Error(err)
		}
		if packed, err := log.Pack(t.Context(), store.Key{Thread: fmt.Sprint("b", create)}); err != nil || packed.Entries != 7 {
			t.Errorf("Pack: %+v, %v", packed, err)
		}
		for _, after := range []int64{0, store.BlockEntries} { // then there is a seal to compare with
			key := store.Key{Thread: fmt.Sprint("c", create)}
			if _, err := log.Append(t.Context(), key, after, numbered(after, store.BlockEntries)); err != nil {
				t.Error(err)
			}
			if s, err := operator.Seal(t.Context(), log, key); err != nil || !s.New {
				t.Errorf("Seal: %+v, %v", s, err)
			}
		}
		verified(t, policy, log, fmt.Sprint("c", create), 2*store.BlockEntries)
		for _, thread := range []string{"b", "c"} {
			if _, err := log.Delete(t.Context(), store.Key{Thread: fmt.Sprint(thread, create)}); err != nil {
				t.Error(err)
			}
		}
		if _, err := log.Stat(t.Context()); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}

	if _, err := operator.Seal(t.Context(), open(t, link), store.Key{Thread: "a"}); err != nil {
		t.Fatal(err)
	}

	// A user who may only read.
	reader := "reader_" + schema
	run(t, conn, fmt.Sprintf(`CREATE USER %[1]s PASSWORD 'sekret'; GRANT USAGE ON SCHEMA %[2]s TO %[1]s;
		GRANT SELECT ON ALL TABLES IN SCHEMA %[2]s TO %[1]s`, reader, schema))
	parsed.User = url.UserPassword(reader, "sekret")
	log, err := Open(t.Context(), parsed.String(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if n := count(t, log, "a"); n != 6 {
		t.Errorf("a reader reads %d entries", n)
	}
	if _, err := log.Append(t.Context(), store.Key{Thread: "a"}, 6, numbered(6, 1)); code(err) != insufficientRights || !strings.Contains(err.Error(), "grant the user") {
		t.Errorf("Append of a reader: %v", err)
	}
	verified(t, policy, log, "a", 6)
	if err := log.Seal(t.Context(), store.Key{Thread: "a"}, store.Seal{Size: 1, Checkpoint: []byte("c")}, store.Blocks{}); code(err) != insufficientRights {
		t.Errorf("Seal of a reader: %v", err)
	}
	if _, err := Open(t.Context(), strings.Replace(parsed.String(), "search_path=", "search_path=new_", 1), true); err == nil || !strings.Contains(err.Error(), "grant the user") {
		t.Errorf("a reader creates a log: %v", err)
	}
}

// TestPostgresPassword checks that a wrong password is reported, and no password is shown.
func TestPostgresPassword(t *testing.T) {
	t.Parallel()
	s := shared(t)
	for _, link := range []string{
		strings.Replace(s.url, "p20export@", "p20export:sekret@", 1),
		s.url + "&password=sekret",
		strings.Replace(s.url, "/postgres?", "/none?", 1) + "&password=sekret",
		s.url + "&password=sekret&sslmode=require",
		s.url + "&password=sekret&unknown_parameter=1",
		"postgres://u:sekret@127.0.0.1:1/db?connect_timeout=1",
		"postgres://u:sekret@/db?host=" + url.QueryEscape(filepath.Join(t.TempDir(), "none")),
	} {
		_, err := Open(t.Context(), link, true)
		if err == nil {
			t.Errorf("%s: no error", link)
		} else if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "sekret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error shows the password, or has several lines: %s", link, text)
		}
	}
	_, err := Open(t.Context(), s.url+"&password=sekret", true)
	if code(err) != invalidPassword || strings.Contains(err.Error(), "tls") ||
		!strings.Contains(err.Error(), "the server refused the user or the password; check both: FATAL: password authentication failed") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestPostgresLargeEntries reads entries of a size that would not fit in memory if a page had
// a fixed number of rows.
func TestPostgresLargeEntries(t *testing.T) {
	t.Parallel()
	log := open(t, shared(t).schema())
	key := store.Key{Thread: "t"}
	const size, n = 1 << 20, 40
	for i := range int64(n) {
		entry := store.Entry{Stream: "s", Kind: store.Event, Data: make([]byte, size)}
		entry.Data[0] = byte(i)
		if _, err := log.Append(t.Context(), key, i, []store.Entry{entry}); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Data) != size || e.Data[0] != byte(i) {
			t.Fatalf("entry %d has %d bytes and begins with %d", i, len(e.Data), e.Data[0])
		}
		i++
	}
	if i != n {
		t.Errorf("%d entries were read, want %d", i, n)
	}
}

// TestPostgresColumns compares the tables with those of SQLite: programs that read one database
// can read the other.
func TestPostgresColumns(t *testing.T) {
	t.Parallel()
	link := shared(t).schema()
	open(t, link)
	rows, err := connect(t, link).Query(t.Context(), `SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'YES' THEN ' NULL' ELSE '' END
		FROM information_schema.columns WHERE table_schema = $1 AND table_name <> 'goose_db_version'`, schemaOf(link))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	compareColumns(t, ours, filepath.Join(t.TempDir(), "log"))
}

// TestPostgresReadOnly appends in a session in which the server refuses changes.
func TestPostgresReadOnly(t *testing.T) {
	t.Parallel()
	url := shared(t).schema()
	fill(t, open(t, url), "t", 6)
	log := open(t, url+"&default_transaction_read_only=on")
	if n := count(t, log, "t"); n != 6 {
		t.Errorf("%d entries, want 6", n)
	}
	_, err := log.Append(t.Context(), store.Key{Thread: "t"}, 6, numbered(6, 1))
	if err == nil || !strings.Contains(err.Error(), "is a standby, or default_transaction_read_only is on") {
		t.Errorf("Append: %v", err)
	}
}
