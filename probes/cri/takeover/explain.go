package takeover

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// explain says to a person why a socket cannot be taken over, and what helps.
func explain(path string, err error) error {
	var held *servedError
	if errors.As(err, &held) {
		if held.name == "" {
			held.name = path
		}
		return err
	}
	for _, known := range []struct {
		is   error
		todo string
	}{
		{errNoSocket, "name the runtime's socket"},
		{unix.ENOENT, "start the runtime, or name its socket"},
		{unix.ECONNREFUSED, "nobody listens on it; start the runtime"},
		{unix.EPROTOTYPE, "it is no stream socket; name the runtime's"},
		{errNoRight, "nothing was changed"},
		{unix.EACCES, "run podstep as root"},
		{unix.EPERM, "run podstep as root"},
		{unix.EROFS, "its file system is read-only: nothing can be put before the runtime there"},
		{unix.ENOSPC, "its file system is full; make room for one more file"},
		{unix.EDQUOT, "the quota of its file system is used up"},
		{unix.ENAMETOOLONG, "its name leaves no room for " + suffix + "; give the runtime a shorter one"},
		{unix.ELOOP, "its links go round in a circle"},
	} {
		if errors.Is(err, known.is) {
			return fmt.Errorf("take %s over: %w; %s", path, err, known.todo)
		}
	}
	return fmt.Errorf("take %s over: %w", path, err)
}
