// Command p20export turns one captured AG-UI run into a small frozen evidence
// artifact.
package main

import (
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
