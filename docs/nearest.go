package docs

import (
	"slices"
	"sort"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spelling"
)

// Nearest returns the four codes and rules whose names are most similar to name.
func Nearest(name string) []string {
	var names []string
	for _, c := range finding.Codes() {
		names = append(names, string(c))
	}
	for _, r := range Rules() {
		names = append(names, r.ID)
	}
	return NearestOf(name, names)
}

// NearestOf returns the names most similar to name, at most four, the most similar first.
// A name that contains name is treated as very similar.
func NearestOf(name string, names []string) []string {
	const maxNames = 4
	name = strings.ToLower(name)
	names = slices.Clone(names)
	distances := make(map[string]int, len(names))
	for _, n := range names {
		lower := strings.ToLower(n)
		distances[n] = spelling.Distance(name, lower)
		if len(name) > 2 && strings.Contains(lower, name) {
			distances[n] = min(distances[n], 1)
		}
	}
	sort.SliceStable(names, func(i, j int) bool { return distances[names[i]] < distances[names[j]] })
	return names[:min(maxNames, len(names))]
}
