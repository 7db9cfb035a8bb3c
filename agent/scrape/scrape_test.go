package scrape

import "testing"

// TestAddress: a port alone is on the loopback interface; any other interface is written out.
func TestAddress(t *testing.T) {
	for text, want := range map[string]struct {
		address string
		open    bool
	}{
		"9090":                  {"127.0.0.1:9090", false},
		":9090":                 {"127.0.0.1:9090", false},
		"localhost:9090":        {"127.0.0.1:9090", false},
		"127.0.0.5:1":           {"127.0.0.5:1", false},
		"[::1]:9090":            {"[::1]:9090", false},
		"0.0.0.0:9090":          {"0.0.0.0:9090", true},
		"[::]:9090":             {"[::]:9090", true},
		"[::ffff:127.0.0.1]:80": {"[::ffff:127.0.0.1]:80", false},
		"10.1.2.3:65535":        {"10.1.2.3:65535", true},
	} {
		if got, open, err := Address(text); err != nil || got != want.address || open != want.open {
			t.Errorf("%q: %q, open %v, %v; want %+v", text, got, open, err, want)
		}
	}
	for _, text := range []string{"", ":", ":0", "0", "x", "1.2.3.4", "1.2.3.4:", "host:9090", "1.2.3.4:70000", "http://1.2.3.4:80", "1:2:3"} {
		if got, _, err := Address(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}
