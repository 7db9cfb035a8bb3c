// Command keysdoc writes docs/keys.md from the table of actions.
package main

import (
	"log"
	"os"

	"github.com/podstep/podstep/tui"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: keysdoc FILE")
	}
	if err := os.WriteFile(os.Args[1], tui.KeysDoc(), 0o644); err != nil {
		log.Fatal(err)
	}
}
