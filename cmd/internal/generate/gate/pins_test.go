package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPins(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"requirements.in", "b==2.0 # why\n# c==3\na[x]==1.0\n", []string{"a[x] 1.0", "b 2.0"}},
		{"package.json", `{"dependencies": {"b": "2.0", "@a/a": "1.0"}}`, []string{"@a/a 1.0", "b 2.0"}},
		{"pom.xml", `<project xmlns="http://maven.apache.org/POM/4.0.0"><parent><artifactId>p</artifactId></parent><dependencies>
			<dependency><groupId>b.c</groupId><artifactId>d</artifactId><version>2.0</version></dependency>
			<dependency><groupId>a</groupId><artifactId>e</artifactId><version>1.0</version></dependency>
			</dependencies></project>`, []string{"a:e 1.0", "b.c:d 2.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, test.name), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := pins(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := pins(t.TempDir()); err == nil {
		t.Error("a harness without packages has pins")
	}
}
