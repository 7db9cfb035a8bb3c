package client

import "strconv"

// user is whose client it is. Who listens at a socket sees and answers what a
// client asks, so a client speaks only to those that it trusts.
type user struct {
	uid int
	// sudo is who became root by sudo, and trusts the agents of their own; -1:
	// nobody did.
	sudo int
}

// caller is the user of this process.
func caller(getenv func(string) string, uid int) user {
	out := user{uid: uid, sudo: -1}
	if by, err := strconv.Atoi(getenv("SUDO_UID")); err == nil && uid == 0 {
		out.sudo = by
	}
	return out
}

// trusts reports whether a user's agent may be spoken to.
func (u user) trusts(uid int) bool { return uid == 0 || uid == u.uid || uid == u.sudo }
