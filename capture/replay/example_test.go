package replay_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/p20export/p20export/capture/replay"
)

// A test of a front end can replay recorded runs.
func Example() {
	r, err := replay.New(context.Background(), "../../discovery/captures/adk/one-turn", replay.Settings{RequestIDs: true})
	if err != nil {
		log.Fatal(err)
	}
	agent := httptest.NewServer(r)
	defer agent.Close()

	response, err := http.Post(agent.URL, "application/json", strings.NewReader(`{"threadId":"mine","runId":"run-7"}`))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	first, _, _ := strings.Cut(string(body), "\n")
	fmt.Println(response.Status, response.Header.Get(replay.AlteredHeader))
	fmt.Println(first)
	// Output:
	// 200 OK ids
	// data: {"type":"RUN_STARTED","threadId":"mine","runId":"run-7","protocolVersion":"1.0"}
}
