package page

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Choose returns the names in a list that is separated by commas, or all names if it is empty.
func Choose(list string, all []string) ([]string, error) {
	if list == "" {
		return all, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%q is not known; choose from %s", name, strings.Join(all, ", "))
		}
	}
	return names, nil
}

// Percentile returns the value of sorted samples below which a share of them is.
func Percentile[T int64 | float64](sorted []T, share float64) float64 {
	return float64(sorted[min(int(share*float64(len(sorted))), len(sorted)-1)])
}

// Range formats the median of values with the smallest and the largest, and sorts them.
func Range(values []float64) string {
	cell := "**" + Number(Median(values)) + "**"
	if len(values) > 1 {
		cell += fmt.Sprintf(" (%s to %s)", Number(values[0]), Number(values[len(values)-1]))
	}
	return cell
}

// Now returns the monotonic clock of the machine in nanoseconds, which all processes share.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
