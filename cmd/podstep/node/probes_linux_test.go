package node

import "testing"

// TestChooseProbes: all that are registered, in their order, or those that are
// named.
func TestChooseProbes(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
	}{{nil, len(registered)}, {[]string{"api", "cri"}, 2}} {
		kinds, err := chooseProbes(c.names)
		if err != nil || len(kinds) != c.want || kinds[0].Name != "cri" {
			t.Errorf("%v: %v, %v", c.names, kinds, err)
		}
	}
	if _, err := chooseProbes([]string{"oracle"}); err == nil {
		t.Error("a probe that is not there is taken")
	}
}
