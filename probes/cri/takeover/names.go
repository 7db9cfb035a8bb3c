package takeover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// exchange lets the two names change places.
func (p *place) exchange() error { return p.exchangeNames(p.backup(), p.name) }

// exchangeNames lets any two names change places, in one moment for every process that looks.
func (p *place) exchangeNames(aside, name string) error {
	err := unix.Renameat2(p.dir, aside, p.dir, name, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("exchange %s and %s: this file system cannot: %w", name, aside, err)
	}
	if err != nil {
		return fmt.Errorf("exchange %s and %s: %w", name, aside, err)
	}
	return nil
}

func (p *place) unlink(name string) error {
	if err := unix.Unlinkat(p.dir, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// rounds bounds how often the names are looked at anew because another process changes them meanwhile.
const rounds = 5

// giveBack brings the names into the order that they would have without us, and returns what it did. ours and
// theirs are what is known of the two sockets.
func (p *place) giveBack(ours, theirs fileID) (done []string, err error) {
	for range rounds {
		did, again, err := p.giveBackOnce(ours, theirs)
		if did != "" {
			done = append(done, did)
		}
		if err != nil {
			return done, err
		}
		if !again {
			return done, p.dropSpare()
		}
	}
	return done, fmt.Errorf("somebody else changes %s all the time", p.name)
}

func (p *place) giveBackOnce(ours, theirs fileID) (did string, again bool, err error) {
	none := fileID{}
	for _, name := range []string{p.backup(), p.spare()} {
		if id := p.idOf(name); id == ours && id != none {
			return "removed our socket " + name, true, p.unlink(name)
		}
	}
	at := p.idOf(p.name)
	taken := at == ours && at != none
	aside := p.aside(theirs, taken)
	switch {
	case taken && aside == "":
		return "removed our socket from " + p.name + "; the runtime's own is gone", false, p.unlink(p.name)
	case taken:
		return p.giveBackFrom(aside, ours)
	case aside == "" || aside == p.spare() && at != none && p.nameOf(theirs) != "":
		return "", false, nil
	}
	return p.giveBackSecond(aside, at, ours)
}

// aside returns the name that the runtime's own socket has, "" if none: the second one, or the spare one if
// somebody removed or replaced the second. While the path is taken, the second may be a socket that the runtime has
// made just now, which is not known yet.
func (p *place) aside(theirs fileID, taken bool) string {
	none := fileID{}
	second, spare := p.idOf(p.backup()), p.spareID()
	spared := spare == theirs && spare != none
	switch {
	case second != none && second == theirs:
		return p.backup()
	case taken && second != none && (!spared || p.whoServes(p.backup()).alive):
		return p.backup()
	case spared:
		return p.spare()
	}
	return ""
}

// giveBackFrom puts the socket that was put aside at the path, and our socket aside.
func (p *place) giveBackFrom(aside string, ours fileID) (did string, again bool, err error) {
	if err := p.exchangeNames(aside, p.name); err != nil {
		return "", false, err
	}
	if p.idOf(aside) != ours {
		// A new socket came to the path between look and exchange. It stays there.
		return "", true, p.exchangeNames(aside, p.name)
	}
	return "gave " + p.name + " back to the runtime", true, nil
}

// giveBackSecond handles that the runtime's socket is aside, and the path is not ours any more.
func (p *place) giveBackSecond(aside string, at, ours fileID) (did string, again bool, err error) {
	if !p.whoServes(aside).alive {
		return "removed " + aside + ", that nobody serves", false, p.unlink(aside)
	}
	if at == (fileID{}) {
		err := unix.Renameat2(p.dir, aside, p.dir, p.name, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EEXIST) {
			return "", true, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("rename %s to %s: %w", aside, p.name, err)
		}
		return "gave " + p.name + ", that was missing, back to the runtime", false, nil
	}
	if p.sameServer(aside) {
		return "removed " + aside + "; the runtime has made " + p.name + " again", false, p.unlink(aside)
	}
	if name := p.nameOf(ours); name != "" {
		return p.giveBackAs(aside, name, ours)
	}
	// The last name of a living runtime's socket is never taken away.
	return "", false, fmt.Errorf("%s belongs to process %d now; the runtime's own socket stays as %s: rename it over %s when that process has ended",
		p.name, p.whoServes(p.name).pid, aside, p.name)
}

// giveBackAs gives back a name to which somebody else has moved our socket. Clients that came to us by that name go
// to the runtime from now on.
func (p *place) giveBackAs(aside, name string, ours fileID) (did string, again bool, err error) {
	err = p.exchangeNames(aside, name)
	if errors.Is(err, unix.ENOENT) {
		return "", true, nil // renamed meanwhile
	}
	if err != nil {
		return "", false, err
	}
	if p.idOf(aside) != ours {
		// Another file came to the name between look and exchange. It stays there.
		return "", true, p.exchangeNames(aside, name)
	}
	return fmt.Sprintf("somebody else has %s, and goes to the runtime through %s: gave %s back", p.name, name, name), true, nil
}

// nameOf finds another name of a file in the directory, "" if it has none.
func (p *place) nameOf(id fileID) string {
	if id == (fileID{}) {
		return ""
	}
	entries, _ := os.ReadDir(p.shortPath("."))
	for _, e := range entries {
		if e.Type() == fs.ModeSocket && p.idOf(e.Name()) == id {
			return e.Name()
		}
	}
	return ""
}

// sameServer reports whether one process serves the path and another name.
func (p *place) sameServer(aside string) bool {
	a, b := p.whoServes(p.name), p.whoServes(aside)
	return a.alive && b.alive && a.pid == b.pid && a.pid != 0
}

// servedError is the error for a socket that a living process has taken over.
type servedError struct {
	name string
	pid  int
}

func (e *servedError) Error() string {
	who := fmt.Sprintf("process %d", e.pid)
	if e.pid == 0 {
		// It is out of sight, or so new that it has not written down its pid.
		who = "another process"
	}
	return fmt.Sprintf("%s is taken over already, by %s: end that one first (podstep restore cleans up after dead ones)", e.name, who)
}

// IsHeld reports whether a takeover failed because another process has the path.
func IsHeld(err error) bool {
	var held *servedError
	return errors.As(err, &held)
}

// tidy clears what a dead podstep has left, going by the names alone: a socket that no process serves is not the
// runtime's.
func (p *place) tidy() ([]string, error) {
	second, err := p.stat(p.backup())
	if err != nil {
		return nil, err
	}
	if second.id == (fileID{}) {
		return p.tidySpare()
	}
	if !second.socket {
		return nil, fmt.Errorf("%s is there, and is not a socket of podstep's: remove it first", p.backup())
	}
	at, err := p.stat(p.name)
	if err != nil {
		return nil, err
	}
	on, aside := p.whoServes(p.name), p.whoServes(p.backup())
	switch {
	case on.alive && aside.alive && (on.pid != aside.pid || on.pid == 0):
		return nil, &servedError{p.name, on.pid}
	case on.alive:
		return p.giveBack(second.id, at.id)
	}
	return p.giveBack(at.id, second.id)
}
