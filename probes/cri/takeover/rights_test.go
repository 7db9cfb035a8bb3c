package takeover

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// acl returns an ACL as the kernel has it: the owner and a group may do all, others and the owning group nothing.
func acl(group uint32) []byte {
	const owner, owning, named, mask, others, nobody = 1, 4, 8, 16, 32, 0xffffffff
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, may uint16
		id       uint32
	}{{owner, 7, nobody}, {owning, 0, nobody}, {named, 7, group}, {mask, 7, nobody}, {others, 0, nobody}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.may)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func setACL(t *testing.T, file, attr string, value []byte) {
	t.Helper()
	err := unix.Lsetxattr(file, attr, value, 0)
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this file system has no ACLs")
	}
	must(t, err)
}

func aclOf(file string) string {
	b := make([]byte, 1024)
	n, err := unix.Lgetxattr(file, aclAttr, b)
	if err != nil {
		return err.Error()
	}
	return string(b[:n])
}

// TestACL: our socket has the ACL of the runtime's. Its mode alone would let the owning group do what only the mask
// allows. The ACL that the directory gives to new files is not for our socket.
func TestACL(t *testing.T) {
	const inherited = "system.posix_acl_default"
	for _, c := range []struct {
		name   string
		socket bool
		dir    bool
	}{{"of the socket", true, false}, {"of the directory", false, true}, {"of both", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			if c.dir {
				setACL(t, s.dir, inherited, acl(777))
			}
			if c.socket {
				setACL(t, s.path, aclAttr, acl(4242))
			}
			before, mode := aclOf(s.path), stat(t, s.path).Mode
			s.take(t)
			if got := aclOf(s.path); got != before {
				t.Errorf("the ACL of ours is %q, of the runtime's %q", got, before)
			}
			if got := stat(t, s.path).Mode; got != mode {
				t.Errorf("the mode of ours is %o, of the runtime's %o", got, mode)
			}
		})
	}
}

// TestDressNoLink: a link that somebody put in the place of our socket does not lead us to another file.
func TestDressNoLink(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	victim := filepath.Join(s.dir, "victim")
	write(t, victim)
	must(t, os.Symlink(victim, s.path+suffix))
	p, err := findOwn(s.path)
	must(t, err)
	defer p.close()
	like, err := p.pin(p.name)
	must(t, err)
	defer like.close()
	fd, err := newSocket()
	must(t, err)
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	if _, _, err := p.dress(f, p.backup(), like); err == nil {
		t.Error("a symbolic link was taken for our socket")
	}
	if got := stat(t, victim).Mode & 0o777; got != 0o600 {
		t.Errorf("the mode of a file that has nothing to do with it became %o", got)
	}
}

// TestRightsRefused: where our socket cannot have the ACL of the runtime's, the error names that, and not that its
// rights differ.
func TestRightsRefused(t *testing.T) {
	needRoot(t)
	s := newSetup(t)
	write(t, s.path)
	setACL(t, s.path, aclAttr, acl(4242))
	bare := filepath.Join(s.dir, "bare")
	must(t, os.Mkdir(bare, 0o755))
	if err := unix.Mount("none", bare, "ramfs", 0, ""); err != nil {
		t.Skipf("no ramfs can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(bare, unix.MNT_DETACH) })
	write(t, filepath.Join(bare, "x"))
	pinAt := func(path string) pinned {
		p, err := findOwn(path)
		must(t, err)
		defer p.close()
		f, err := p.pin(p.name)
		must(t, err)
		t.Cleanup(f.close)
		return f
	}
	err := pinAt(filepath.Join(bare, "x")).dressAs(pinAt(s.path))
	if !errors.Is(err, errRights) || !strings.Contains(explain("/x", err).Error(), "set system.posix_acl_access: operation not supported; so others might connect") {
		t.Errorf("error %v", err)
	}
}
