package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
)

// The password is that of PGPASSWORD, or of the file that PGPASSFILE names. The log is used
// as in the example of package store/sqlite.
func ExampleOpen() {
	ctx := context.Background()
	events, err := postgres.Open(ctx, "postgres://app@db.example/agents?sslmode=verify-full", true)
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	for e, err := range events.Follow(ctx, store.Key{Thread: "thread-1"}, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", e.Position, e.Data)
	}
}
