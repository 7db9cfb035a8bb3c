package client

import "strconv"

// user is the user of a client. The process that listens at a socket sees and answers what a client asks, so a client
// speaks only to users that it trusts.
type user struct {
	uid int
	// sudo is the user who became root by sudo, and who trusts the agents of their own; -1: there is none.
	sudo int
}

// caller returns the user of this process.
func caller(getenv func(string) string, uid int) user {
	out := user{uid: uid, sudo: -1}
	if by, err := strconv.Atoi(getenv("SUDO_UID")); err == nil && uid == 0 {
		out.sudo = by
	}
	return out
}

// trusts reports whether a user's agent may be spoken to.
func (u user) trusts(uid int) bool { return uid == 0 || uid == u.uid || uid == u.sudo }
