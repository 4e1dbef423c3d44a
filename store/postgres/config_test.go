package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConfig checks what is taken from the URL and from the environment.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	passfile := write("pgpass", "db.example:5433:logs:writer:from-file\n")
	services := write("services", "[prod]\nhost=db.example\nport=5433\ndbname=logs\nuser=writer\n")
	type want struct {
		Host, Database, User, Password, Schema, Commit string
		Port                                           uint16
		Timeout                                        time.Duration
		TLS                                            bool
	}
	plain := want{Host: "db.example", Port: 5433, Database: "logs", User: "writer", Schema: "p20export", Commit: "on", Timeout: 10 * time.Second}
	with := func(change func(*want)) want { w := plain; change(&w); return w }
	for _, c := range []struct {
		name, url string
		env       map[string]string
		want      want
	}{
		{name: "url", url: "postgres://writer:in-url@db.example:5433/logs?sslmode=disable", want: with(func(w *want) { w.Password = "in-url" })},
		{name: "postgresql", url: "postgresql://writer@db.example:5433/logs?sslmode=disable", want: plain},
		{name: "PGPASSWORD", url: "postgres://writer@db.example:5433/logs?sslmode=disable",
			env: map[string]string{"PGPASSWORD": "from-env"}, want: with(func(w *want) { w.Password = "from-env" })},
		{name: "PGPASSFILE", url: "postgres://writer@db.example:5433/logs?sslmode=disable",
			env: map[string]string{"PGPASSFILE": passfile}, want: with(func(w *want) { w.Password = "from-file" })},
		{name: "environment", url: "postgres://",
			env:  map[string]string{"PGHOST": "db.example", "PGPORT": "5433", "PGDATABASE": "logs", "PGUSER": "writer", "PGSSLMODE": "disable"},
			want: plain},
		{name: "service", url: "postgres://?service=prod&sslmode=disable", env: map[string]string{"PGSERVICEFILE": services}, want: plain},
		{name: "TLS", url: "postgres://writer@db.example:5433/logs?sslmode=verify-full", want: with(func(w *want) { w.TLS = true })},
		{name: "schema", url: "postgres://writer@db.example:5433/logs?sslmode=disable&search_path=other&synchronous_commit=remote_apply&connect_timeout=3",
			want: with(func(w *want) { w.Schema, w.Commit, w.Timeout = "other", "remote_apply", 3*time.Second })},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLMODE"} {
				t.Setenv(name, c.env[name])
				if c.env[name] == "" {
					os.Unsetenv(name)
				}
			}
			t.Setenv("HOME", dir)
			got, err := parseConfig(c.url)
			if err != nil {
				t.Fatal(err)
			}
			conn := got.conn
			if diff := cmp.Diff(c.want, want{
				Host: conn.Host, Port: conn.Port, Database: conn.Database, User: conn.User, Password: conn.Password,
				Schema: got.schema, Commit: conn.RuntimeParams["synchronous_commit"],
				Timeout: conn.ConnectTimeout, TLS: conn.TLSConfig != nil,
			}); diff != "" {
				t.Error(diff)
			}
			if path := conn.RuntimeParams["search_path"]; path != got.schema {
				t.Errorf("search_path is %q", path)
			}
		})
	}
}

// TestConfigErrors checks that errors say what is wrong with a URL, and have no password.
func TestConfigErrors(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://u:sekret@h/db":                              "begins with postgres://",
		"host=h password=sekret":                             "begins with postgres://",
		"postgres://u:sekret@h:port/db":                      "invalid port",
		"postgres://u:sek:ret@h:port/db":                     "invalid port",
		"postgres://u:sekret%zz@h/db":                        "failed to parse as URL",
		"postgres://u:sekret@[::1/db":                        "failed to parse as URL",
		"postgres://u:sekret/x@h/db":                         "write @ as %40",
		"postgres://u:12/sekret@h/db":                        "write @ as %40",
		"postgres://u:12?sekret@h/db":                        "write @ as %40",
		"postgres://u:12#sekret@h/db":                        "write @ as %40",
		"postgres://u:sekret@h/db?connect_timeout=sekret":    "invalid connect_timeout",
		"postgres://u:sekret@h/db?sslmode=sometimes":         "failed to configure TLS (sslmode is invalid)",
		"postgres://u:sekret@h/db?sslrootcert=/no/such/file": "/no/such/file",
		"postgres://u:sekret@h/db?target_session_attrs=x":    "unknown target_session_attrs value",
		"postgres://u:sekret@h/db?channel_binding=sekret":    "unknown channel_binding value",
		"postgres://u:sekret@h,i:1,2,3/db?port=1,2,3":        "",
		"postgres://u@h/db?password=sekret&port=x":           "invalid port",
		"postgres://u:sekret@h/db?service=none":              "failed to read service",
		"postgres://u:sekret@h/db?search_path=a,b":           "search_path",
		"postgres://u:sekret@h/db?search_path=":              "search_path",
		"postgres://u:sekret@h/db?search_path=1a":            "search_path",
		"postgres://u:sekret@h/db?synchronous_commit=off":    "synchronous_commit",
	} {
		_, err := parseConfig(url)
		if err == nil {
			t.Errorf("%s: no error", url)
			continue
		}
		if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "sek") && !strings.Contains(want, "sek") {
			t.Errorf("%s: %s; want %q and no password", url, text, want)
		}
	}
}
