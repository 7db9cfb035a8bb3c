package takeover

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// spareDir is a directory of podstep's own beside the socket. In it the runtime's socket has one more name while
// its path is ours. Somebody who tidies up the runtime's directory may well remove NAME.podstep. Without any name,
// a socket that is served cannot be connected to, and no link to it can be made any more. The directory is beside
// the socket, and not with the state: so it is on the same file system and mount in every view of files, and can be
// found from the socket's directory alone.
const spareDir = ".podstep"

// spare returns the spare name.
func (p *place) spare() string { return spareDir + "/" + p.name }

// makeSpare makes the spare name. It names the open file itself, so no rename can come between.
func (p *place) makeSpare(s pinned) error {
	if p.spareID() == s.id {
		return nil
	}
	err := unix.Mkdirat(p.dir, spareDir, 0o700)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", spareDir, err)
	}
	if !p.ownsSpareDir() {
		return fmt.Errorf("%s is not podstep's own directory", spareDir)
	}
	if err := p.link(s, p.spare()); err != nil {
		p.removeSpareDir()
		return err
	}
	return nil
}

// link gives an open file one more name. The file must still have one.
func (p *place) link(s pinned, name string) error {
	if err := unix.Linkat(unix.AT_FDCWD, s.path(), p.dir, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	return nil
}

// spareID returns the identity of the file that has the spare name, or zero. In a directory of somebody else's that
// may be any socket, so it does not count.
func (p *place) spareID() fileID {
	if !p.ownsSpareDir() {
		return fileID{}
	}
	return p.idOf(p.spare())
}

// ownsSpareDir reports whether the directory is there, and only we may change its content.
func (p *place) ownsSpareDir() bool {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, spareDir, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == os.Geteuid() && st.Mode&0o022 == 0
}

// dropSpare removes the spare name. It never takes away the last name of a living runtime's socket.
func (p *place) dropSpare() error {
	id := p.spareID()
	if id != (fileID{}) {
		if p.nameOf(id) == "" && p.whoServes(p.spare()).alive && !p.sameServer(p.spare()) {
			return nil
		}
		if err := p.unlink(p.spare()); err != nil {
			return err
		}
	}
	p.removeSpareDir()
	return nil
}

// removeSpareDir removes the directory unless another takeover uses it.
func (p *place) removeSpareDir() {
	if p.ownsSpareDir() {
		_ = unix.Unlinkat(p.dir, spareDir, unix.AT_REMOVEDIR)
	}
}

// tidySpare clears what a dead podstep has left if there is no second name, because somebody removed that.
func (p *place) tidySpare() ([]string, error) {
	spare := p.spareID()
	at, err := p.stat(p.name)
	if err != nil || spare == (fileID{}) || spare == at.id {
		return nil, errors.Join(err, p.dropSpare())
	}
	on, kept := p.whoServes(p.name), p.whoServes(p.spare())
	switch {
	case on.alive && kept.alive && (on.pid != kept.pid || on.pid == 0):
		return nil, &servedError{p.name, on.pid}
	case on.alive || !kept.alive:
		return nil, p.dropSpare()
	}
	return p.giveBack(at.id, spare)
}
