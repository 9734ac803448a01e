// Command lab teaches Envoy's xDS by running it.
package main

import (
	"os"

	"lab/pkg/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
