package takeover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ensurePitch is how often Ensure looks whether another process is done with a path.
const ensurePitch = 20 * time.Millisecond

// Ensure makes sure that nothing of a takeover is left at a path whose state is in file: it gives the path back if the
// processes that had it have died. It returns what it did. ours is the process that took the path over. While that
// one, or its guard, still has the path, Ensure waits until ctx ends, and then fails. It leaves alone what another
// process has taken over.
func Ensure(ctx context.Context, file, root, path string, ours int) (did []string, err error) {
	for {
		r, there := restoreState(file)
		did = append(did, r.Done...)
		switch {
		case r.Living && r.PID != ours:
			return did, nil
		case r.Living:
		case r.Error != "":
			return did, errors.New(r.Error)
		case there:
			return did, nil
		default:
			more, err := ensureNames(file, root, path)
			return append(did, more...), err
		}
		select {
		case <-time.After(ensurePitch):
		case <-ctx.Done():
			return did, fmt.Errorf("process %d still has it", ours)
		}
	}
}

// ensureNames clears what is left at a path without a state, by the names alone. It leaves alone what a living process
// has.
func ensureNames(file, root, path string) ([]string, error) {
	r, err := openRoot(root)
	if err != nil {
		return nil, nil //nolint:nilerr // the kubelet has ended, and its view of files with it: the state had all that there was
	}
	defer r.close()
	p, err := findPlace(r, path)
	if err != nil {
		return nil, nil //nolint:nilerr // the directory is gone, and all that was in it
	}
	defer p.close()
	if p.idOf(p.backup()) == (fileID{}) && p.spareID() == (fileID{}) {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("keep state: %w", err)
	}
	s, err := lockState(file, os.O_CREATE)
	if IsHeld(err) {
		return nil, nil // another podstep has begun to take the path
	}
	if err != nil {
		return nil, err
	}
	did, err := p.tidy()
	if err != nil {
		s.close()
		return did, err
	}
	return did, s.remove()
}
