// Package spelling measures how similar two names are.
package spelling

// Distance returns the number of bytes that have to be inserted, removed or replaced to
// change a into b. It uses only the first 64 bytes of a, which is longer than any name.
func Distance(a, b string) int {
	a = a[:min(len(a), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Near reports whether two names differ by at most one edit: one byte that is inserted,
// removed, replaced, or swapped with the next.
func Near(a, b string) bool {
	if len(a) > len(b)+1 || len(b) > len(a)+1 {
		return false
	}
	if Distance(a, b) <= 1 {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
