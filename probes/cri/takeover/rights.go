package takeover

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// errRights: a socket as we could make it would let others connect than the runtime's own does.
var errRights = errors.New("a socket of podstep's cannot have the rights of the runtime's own")

const (
	aclAttr   = "system.posix_acl_access"
	labelAttr = "security.selinux"
	smackAttr = "security.SMACK64"
	userAttrs = "user."

	// maxAttr is the largest attribute that the kernel allows.
	maxAttr = 64 << 10
)

// decides reports whether an attribute decides which processes may connect.
func decides(attr string) bool {
	return strings.HasPrefix(attr, "system.") || attr == labelAttr || strings.HasPrefix(attr, smackAttr)
}

// copied reports whether an attribute is to be copied. Others belong to the one file: signatures, and what overlay
// file systems keep for themselves.
func copied(attr string) bool { return decides(attr) || strings.HasPrefix(attr, userAttrs) }

// dressAs gives a socket the owner, mode, ACL and labels of another one: the same processes that might connect
// there may connect here, and no others. It works on the open files, whatever other files get their names
// meanwhile.
func (s pinned) dressAs(like pinned) error {
	if err := unix.Fchownat(s.fd, "", like.uid, like.gid, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("set owner: %w", err)
	}
	if err := s.chmod(like.mode); err != nil {
		return err
	}
	if err := s.copyAttrs(like); err != nil {
		return err
	}
	return s.sameRights(like)
}

// chmod goes by way of /proc, because Linux before 6.6 cannot change the mode of the file alone. A symbolic link
// that is open itself has no mode to change.
func (s pinned) chmod(mode uint32) error {
	if err := unix.Chmod(s.path(), mode); err != nil {
		return fmt.Errorf("set mode: %w", err)
	}
	return nil
}

func (s pinned) path() string { return fmt.Sprintf("/proc/self/fd/%d", s.fd) }

// copyAttrs makes the attributes the same. A directory may give too many to new files in it, such as an ACL.
func (s pinned) copyAttrs(like pinned) error {
	want, err := like.attrs()
	if err != nil {
		return err
	}
	has, err := s.attrs()
	if err != nil {
		return err
	}
	for name := range has {
		// A file cannot be without a label; the policy's own is as good as none.
		if _, wanted := want[name]; !wanted && name == aclAttr {
			if err := unix.Removexattr(s.path(), name); err != nil {
				return fmt.Errorf("%w: remove %s: %w", errRights, name, err)
			}
		}
	}
	for name, value := range want {
		if bytes.Equal(has[name], value) {
			continue
		}
		if err := unix.Setxattr(s.path(), name, value, 0); err != nil && decides(name) {
			return fmt.Errorf("%w: set %s: %w", errRights, name, err)
		}
	}
	return nil
}

// attrs returns the attributes to copy. A file system may have none at all.
func (s pinned) attrs() (map[string][]byte, error) {
	names := make([]byte, maxAttr)
	n, err := unix.Listxattr(s.path(), names)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at attributes: %w", err)
	}
	out := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if !copied(name) {
			continue
		}
		value := make([]byte, maxAttr)
		n, err := unix.Getxattr(s.path(), name, value)
		switch {
		case err == nil:
			out[name] = value[:n]
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.EOPNOTSUPP):
			// It was listed by a security module that is off.
		case decides(name):
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
	}
	return out, nil
}

// sameRights checks that the rights are the same now: a file system may do less than it reports.
func (s pinned) sameRights(like pinned) error {
	now, err := statOf(s.fd)
	if err != nil {
		return err
	}
	if now.uid != like.uid || now.gid != like.gid || now.mode != like.mode {
		return fmt.Errorf("%w: owner %d:%d and mode %o became %d:%d and %o", errRights, like.uid, like.gid, like.mode, now.uid, now.gid, now.mode)
	}
	return nil
}
