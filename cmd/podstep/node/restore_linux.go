package node

import (
	"errors"

	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// TakeoversDir is where the records of takeovers are.
const TakeoversDir = takeover.DefaultDir

// Restore cleans up after podsteps that were attached and have died: whatever dir
// knows of, and what is found at the sockets.
func Restore(dir string, sockets []string) ([]Restored, error) {
	found, err := takeover.Restore(dir, sockets...)
	if err != nil {
		return nil, err
	}
	out := []Restored{}
	for _, r := range found {
		out = append(out, Restored(r))
	}
	return out, nil
}

// Guard is the life of the process that outlives podstep attach. It prints what
// goes wrong itself, so its error has no words.
func Guard() error {
	if takeover.Guard() != 0 {
		return errors.New("")
	}
	return nil
}

// Relay is the life of the process that stands in the path while podstep is attached.
func Relay() error {
	if relayproc.Main() != 0 {
		return errors.New("")
	}
	return nil
}
