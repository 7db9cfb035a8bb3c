package takeover

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// notEvenRoot is for a person who is root already: attaching takes that.
const notEvenRoot = "this is forbidden to root too: by a security module (see the kernel's log), an immutable directory (lsattr -d shows i), or a container's limits"

// explain turns an error into one that says to a person why a socket cannot be taken over, and what helps.
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
		{errNoSocket, "the kubelet is configured to find its runtime there (containerRuntimeEndpoint): see podstep doctor"},
		{unix.ENOENT, "start the runtime, which makes it"},
		{unix.ECONNREFUSED, "nobody listens on it; start the runtime"},
		{unix.EPROTOTYPE, "it is no stream socket, so no runtime of a kubelet listens there: see podstep doctor"},
		{errNoRight, "nothing was changed"},
		{errRights, "so others might connect than now, or the kubelet not. Nothing was changed; the kernel's log may say what forbids it, and podstep attach --probe api,kubelet needs no socket"},
		{unix.EACCES, notEvenRoot},
		{unix.EPERM, notEvenRoot},
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
