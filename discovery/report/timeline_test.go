package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// The timeline describes an omission with the same words as the trees.
func TestTimelineSays(t *testing.T) {
	index, left := 3, bounds
	data := (&viewer{left: &left}).data(new(timeline), nil, []project.Omission{
		{EventIndex: &index, Pointer: "/messages/0/content", Reason: finding.TextPartsJoined},
		{EventIndex: &index, Pointer: "/rawEvent", Reason: finding.KeyOutsideSubset},
		{EventIndex: &index, Pointer: "/message", Reason: finding.ErrorStackTrace},
		{EventIndex: &index, Reason: finding.SnapshotLacksText},
	})
	const want = `{"types":[],"events":[],"kept":{},"left":[[3,"/messages/0/content","text_parts_joined","changed"],[3,"/rawEvent","key_outside_subset","left out"],[3,"/message","error_stack_trace","changed"],[3,"","snapshot_lacks_streamed_text","not in the snapshot"]]}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}
