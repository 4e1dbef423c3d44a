package logs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/logs"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url, want string // the address as text
		secret    bool
	}{
		{"sqlite:events.db", "sqlite:events.db", false},
		{"sqlite:a b?mode=memory#c%20", "sqlite:a b?mode=memory#c%20", false},
		{"SQLite:/var/lib/events.db", "sqlite:/var/lib/events.db", false},
		{"sqlite:///var/lib/events.db", "sqlite:///var/lib/events.db", false},
		{"sqlite:p@ssword:x", "sqlite:p@ssword:x", false},
		{"postgres://db/agents", "postgres://db/agents", false},
		{"postgresql://me@db:5432/agents?sslmode=require", "postgresql://me@db:5432/agents?sslmode=require", false},
		{"postgres:///agents?host=/run/postgresql", "postgres:///agents?host=%2Frun%2Fpostgresql", false},
		{"postgres://me:hunter2@db/agents", "postgres://me@db/agents", true},
		{"postgres://:hunter2@db/agents", "postgres://@db/agents", true},
		{"postgres://me:@db/agents", "postgres://me@db/agents", true},
		{"postgres://me@db/agents?password=hunter2&a=b", "postgres://me@db/agents?a=b", true},
		{"postgres://me@db/agents?sslpassword=hunter2", "postgres://me@db/agents", true},
	} {
		address, err := logs.Parse(test.url)
		if err != nil || address.String() != test.want || address.HasPassword() != test.secret {
			t.Errorf("%s: %s, password %v, %v; want %s", test.url, address, address.HasPassword(), err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, want string }{
		{"", "write sqlite:FILE or postgres://USER@HOST/DATABASE"},
		{"events.db", "write sqlite:FILE or postgres://USER@HOST/DATABASE"},
		{"mysql://me:hunter2@db/agents", "write sqlite:FILE or postgres://USER@HOST/DATABASE"},
		{"memory:", "write sqlite:FILE or postgres://USER@HOST/DATABASE"},
		{"sqlite:", "sqlite: without a file"},
		{"sqlite::memory:", "would be lost"},
		{"sqlite://events.db", "write sqlite:events.db for a file in the working directory"},
		{"sqlite://me:hunter2@db/agents", "write sqlite:FILE for a file in the working directory"},
		{"sqlite:postgres://me:hunter2@db/agents", "is followed by a URL"},
		{"sqlite:://me:hunter2@db/agents", "is followed by a URL"},
		{"sqlite:a\x00b", "contains U+0000"},
		{"postgres:agents", "not the URL of a PostgreSQL database"},
		{"postgres:/agents", "not the URL of a PostgreSQL database"},
		{"postgres://me:hunter2@db:port/agents", "not a valid URL"},
		{"postgres://me:hunter2%@db/agents", "not a valid URL"},
		{"postgres://me:hunter2 @db/agents", "not a valid URL"},
		{"postgres://me@db/agents?password=%zzhunter2", "not a valid URL"},
		{"postgres://me:hunter2@db/agents#x", "has no fragment"},
		{"postgres://me:1/hunter2@db/agents", "has an @ after the server"},
		{"postgres://me:1?hunter2@db/agents", "has an @ after the server"},
	} {
		address, err := logs.Parse(test.url)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %s, %v; want %s", test.url, address, err, test.want)
		}
	}
}

func TestWithPassword(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"postgres://me@db/agents", "postgres://me:old@db/agents", "postgres://me@db/agents?password=old"} {
		address, err := logs.Parse(text)
		if err == nil {
			address, err = address.WithPassword("hunter2@/:#%")
		}
		if err != nil || address.String() != "postgres://me@db/agents" || !address.HasPassword() {
			t.Errorf("%s: %s, %v", text, address, err)
		}
	}
	address, err := logs.Parse("sqlite:events.db")
	if err == nil {
		_, err = address.WithPassword("hunter2")
	}
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// sqlError is an error of PostgreSQL with a code.
type sqlError string

func (e sqlError) Error() string    { return "refused" }
func (e sqlError) SQLState() string { return string(e) }

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	for code, want := range map[sqlError]bool{"28P01": true, "28000": true, "3D000": false} {
		if got := logs.Unauthorized(fmt.Errorf("connect: %w", code)); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
	if logs.Unauthorized(nil) || logs.Unauthorized(errors.New("28P01")) {
		t.Error("an error without a code is one of the password")
	}
}
