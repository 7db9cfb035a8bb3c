package client

import "testing"

// TestTrusts: root's agent, one's own, and, as root by sudo, that of whoever
// called sudo.
func TestTrusts(t *testing.T) {
	for _, c := range []struct {
		sudo   string
		uid    int
		server int
		want   bool
	}{
		{"", 1000, 0, true}, {"", 1000, 1000, true}, {"", 1000, 1001, false}, {"", 0, 1000, false},
		{"1000", 0, 1000, true}, {"1000", 0, 1001, false},
		// Only sudo itself makes root of a user: the variable of others says nothing.
		{"1001", 1000, 1001, false}, {"x", 0, 1000, false}, {"-1", 0, 1000, false},
	} {
		u := caller(func(string) string { return c.sudo }, c.uid)
		if got := u.trusts(c.server); got != c.want {
			t.Errorf("user %d, by sudo of %q, trusts %d: %v", c.uid, c.sudo, c.server, got)
		}
	}
}
