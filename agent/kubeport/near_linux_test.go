package kubeport

import "testing"

func TestAddress(t *testing.T) {
	for _, test := range []struct {
		host string
		port int
		want string
	}{
		{"10.0.0.7", 10250, "10.0.0.7:10250"},
		{"", 10250, "127.0.0.1:10250"},
		{"0.0.0.0", 10250, "127.0.0.1:10250"},
		{"::", 10250, "127.0.0.1:10250"},
		{"fd00::7", 10250, "[fd00::7]:10250"},
		{"10.0.0.7", 0, ""},
	} {
		if got := address(test.host, test.port); got != test.want {
			t.Errorf("%q, %d: got %q, want %q", test.host, test.port, got, test.want)
		}
	}
}
