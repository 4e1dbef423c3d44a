// Command generate writes captures for benchmarks.
//
//	generate -shape langgraph -bytes 256M langgraph-256m.sse
//	generate -count 20000 -bytes 4k small
//
// The second form writes a directory of captures, a list of them and a tar archive.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	name := flag.String("shape", string(captures.ADK), fmt.Sprintf("the shape of the capture: %q", captures.Shapes()))
	bytes := flag.String("bytes", "1M", "the size of the capture, with k, M or G for powers of 1000")
	count := flag.Int("count", 0, "write this number of captures to a directory")
	seed := flag.Uint64("seed", 1, "captures of different seeds differ")
	flag.Parse()
	if flag.NArg() != 1 {
		return fmt.Errorf("give the file or directory to write")
	}
	shape, err := captures.ParseShape(*name)
	if err != nil {
		return err
	}
	size, err := captures.ParseSize(*bytes)
	if err != nil {
		return err
	}
	if *count > 0 {
		return captures.Small(flag.Arg(0), shape, *count, size)
	}
	return captures.File(flag.Arg(0), shape, size, *seed)
}
