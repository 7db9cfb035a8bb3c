package client

import "testing"

// TestTrusts: a client trusts root's agent, its own user's and, as root by sudo, that of the user who called sudo.
func TestTrusts(t *testing.T) {
	for _, c := range []struct {
		sudo   string
		uid    int
		server int
		want   bool
	}{
		{"", 1000, 0, true}, {"", 1000, 1000, true}, {"", 1000, 1001, false}, {"", 0, 1000, false},
		{"1000", 0, 1000, true}, {"1000", 0, 1001, false},
		// Only sudo makes a user root: for other users the variable says nothing.
		{"1001", 1000, 1001, false}, {"x", 0, 1000, false}, {"-1", 0, 1000, false},
	} {
		u := caller(func(string) string { return c.sudo }, c.uid)
		if got := u.trusts(c.server); got != c.want {
			t.Errorf("user %d, by sudo of %q, trusts %d: %v", c.uid, c.sudo, c.server, got)
		}
	}
}
