package sqlite_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/store/storetest"
)

// TestSQLiteUpgraded opens logs that programs with earlier versions of the tables wrote.
func TestSQLiteUpgraded(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"version1", "version2", "version3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			packed, err := os.Open(filepath.Join("testdata", version+".db.gz"))
			must(t, err)
			defer packed.Close()
			r, err := gzip.NewReader(packed)
			must(t, err)
			data, err := io.ReadAll(r)
			must(t, err)
			file := filepath.Join(t.TempDir(), "log")
			write(t, file, data)
			log, err := open(file)
			must(t, err)
			storetest.Upgraded(t, log)
			must(t, log.Close())
			isIntact(t, file)
			isNew(t, file)
		})
	}
}

// isNew checks that a file has the tables, the indexes and the triggers of a new log.
func isNew(t *testing.T, file string) {
	t.Helper()
	other := opened(t)
	must(t, other.Log.Close())
	var texts [2]string
	for i, name := range []string{file, other.Name} {
		if err := plain(t, name).QueryRowContext(t.Context(), `SELECT group_concat(sql, char(10) ORDER BY name) ||
			(SELECT max(version_id) FROM goose_db_version) FROM sqlite_schema`).Scan(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("the tables of the file:\n%s\nand those of a new one:\n%s", texts[0], texts[1])
	}
}
