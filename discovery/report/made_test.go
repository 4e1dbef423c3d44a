package report

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/p20export/p20export/digest"
)

// made writes a page and returns its rows and bytes.
func made(t *testing.T, s Settings, left limits, paths ...string) ([]Row, []byte) {
	t.Helper()
	s.Tool, s.Out = tool, filepath.Join(t.TempDir(), "report.html")
	rows, err := write(context.Background(), paths, s, left)
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Report == nil {
		t.Fatalf("no page: %v", rows[0].Findings)
	}
	page, err := os.ReadFile(s.Out)
	if err != nil {
		t.Fatal(err)
	}
	if sum := digest.Of(page); sum != *rows[0].ReportDigest || int64(len(page)) != *rows[0].ReportBytes {
		t.Errorf("the row says %s and %d bytes", *rows[0].ReportDigest, *rows[0].ReportBytes)
	}
	return rows, page
}

// A madePage is a page of one capture without settings.
type madePage struct {
	once sync.Once
	rows []Row
	page []byte
}

var madePages sync.Map // path to *madePage

// madeOnce is made for one capture without settings, once for all tests.
func madeOnce(t *testing.T, path string) ([]Row, []byte) {
	t.Helper()
	value, _ := madePages.LoadOrStore(path, new(madePage))
	m := value.(*madePage)
	m.once.Do(func() { m.rows, m.page = made(t, Settings{}, bounds, path) })
	if m.rows == nil {
		t.Fatalf("%s: another test has failed to make the page", path)
	}
	return m.rows, m.page
}
