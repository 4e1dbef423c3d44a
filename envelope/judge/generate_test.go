package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func ExampleGenerate() {
	r := rand.New(rand.NewPCG(1, 2))
	events := Generate(r, Generator{Events: 4, Without: Chunks | Failures | OpenEnds | MoreRuns})
	fmt.Println(strings.HasPrefix(events[0], `{"type":"RUN_STARTED"`))
	// Output: true
}

// The same seed gives the same stream.
func TestGenerateAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		stream := func() []string {
			r := rand.New(rand.NewPCG(seed, 0))
			events := Generate(r, Generator{With: UnknownTypes | ExtraKeys | Legacy | OddPatches})
			return slices.Concat(events, Damage(r, events))
		}
		if a, b := stream(), stream(); !slices.Equal(a, b) {
			t.Fatalf("seed %d: %q and %q", seed, a, b)
		}
	}
}
