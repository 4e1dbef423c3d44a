package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

// pageNames returns how a page names captures: by their base names, with as many
// folders before them as it takes to tell them apart, so that a page does not
// depend on where the captures lie.
func pageNames(paths []string) ([]string, error) {
	elements := make([][]string, len(paths))
	for i, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if base := capture.BaseName(path); !utf8.ValidString(base) {
			return nil, fmt.Errorf("the name %s is not UTF-8 and cannot stand in a record; make the report of a copy with another name", finding.Quote(base))
		}
		elements[i] = strings.Split(filepath.ToSlash(abs), "/")
	}
	for n := 1; ; n++ {
		names := make([]string, len(paths))
		count := make(map[string]int)
		for i, e := range elements {
			names[i] = strings.Join(e[max(0, len(e)-n):], "/")
			count[names[i]]++
		}
		if len(count) == len(paths) {
			return names, nil
		}
		longest := 0
		for i, e := range elements {
			if count[names[i]] > 1 {
				longest = max(longest, len(e))
			}
		}
		if n >= longest {
			for i, name := range names {
				if count[name] > 1 {
					return nil, fmt.Errorf("%s is named twice", finding.Escape(paths[i]))
				}
			}
		}
	}
}
