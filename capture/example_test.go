package capture_test

import (
	"context"
	"fmt"
	"io"

	"github.com/p20export/p20export/capture"
)

// A capture is read frame by frame. Its digest is valid after io.EOF, when every file
// was compared with its entry in capture.json.
func ExampleOpen() {
	c, err := capture.Open(context.Background(), "../discovery/captures/adk/one-turn", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	frames := 0
	for {
		f, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		if frames++; frames == 1 {
			fmt.Printf("%s at byte %d\n", f.Data[:22], f.Offset)
		}
	}
	fmt.Println(frames, "events in", c.Bytes(), "bytes,", c.Framing())
	fmt.Println(c.Digest())
	// Output:
	// {"type":"RUN_STARTED", at byte 6
	// 12 events in 1434 bytes, sse
	// sha256:91e7581e5e73ea80e307b4b72550bf6cb67e4c925ddc5e6c89648a363d864f07
}
