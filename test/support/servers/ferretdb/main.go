// A MongoDB front over PostgreSQL with DocumentDB: FerretDB as the tests need it.
//
//	ferretdb LISTEN_ADDRESS POSTGRESQL_URL STATE_DIRECTORY
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/v2/ferretdb"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: ferretdb LISTEN_ADDRESS POSTGRESQL_URL STATE_DIRECTORY")
		os.Exit(2)
	}
	telemetry := false
	front, err := ferretdb.New(&ferretdb.Config{
		ListenAddr:    os.Args[1],
		PostgreSQLURL: os.Args[2],
		StateDir:      os.Args[3],
		LogOutput:     os.Stderr,
		Telemetry:     &telemetry,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	front.Run(ctx)
}
