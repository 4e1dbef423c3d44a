package render

import (
	"bytes"
	"cmp"
	"os"
	"slices"

	"github.com/p20export/p20export/finding"
)

// onLines returns findings with the lines of a file that their offsets are on:
// code scanning shows nothing without one. A file that cannot be read leaves
// them as they are.
func onLines(path string, list []finding.Finding) []finding.Finding {
	list = slices.Clone(list)
	var order []int
	for i, f := range list {
		if f.Offset != nil && f.Line == 0 {
			order = append(order, i)
		}
	}
	if order == nil {
		return list
	}
	file, err := os.Open(path)
	if err != nil {
		return list
	}
	defer file.Close()
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(*list[a].Offset, *list[b].Offset) })
	lines, at := 1, int64(0)
	buffer := make([]byte, 64<<10)
	for len(order) > 0 {
		n, err := file.Read(buffer)
		chunk := buffer[:n]
		for len(order) > 0 && *list[order[0]].Offset < at+int64(n) {
			here := int(*list[order[0]].Offset - at)
			lines += bytes.Count(chunk[:here], []byte{'\n'})
			chunk, at, n = chunk[here:], at+int64(here), n-here
			list[order[0]] = list[order[0]].WithLine(lines)
			order = order[1:]
		}
		lines += bytes.Count(chunk, []byte{'\n'})
		at += int64(len(chunk))
		if err != nil {
			break
		}
	}
	return list
}
