package inputs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/capture/inputs"
)

// A list names files and directories. A directory is searched for captures, and a path
// that cannot be read is an error of its own input.
func ExampleList() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello.sse")
	if err := os.WriteFile(file, []byte("data: {}\n\n"), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	source := inputs.List(strings.NewReader(file + "\n" + filepath.Join(dir, "missing.sse") + "\n"))
	defer source.Close()
	for in, err := range source.All(ctx) {
		if err != nil { // the list cannot be read to its end
			fmt.Println(err)
			return
		}
		c, err := in.Open(ctx)
		if err != nil {
			fmt.Println(in.Name, "cannot be opened:", os.IsNotExist(err))
			continue
		}
		fmt.Println(in.Name, c.Framing())
		c.Close()
		in.Close()
	}
	// Output:
	// hello sse
	// missing cannot be opened: true
}
