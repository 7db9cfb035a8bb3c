package explain

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
)

// TestResent: a version of the status counts as sent again only if the last calls of the status manager sent that one.
func TestResent(t *testing.T) {
	info, _, err := tracetest.Read(woven)
	if err != nil {
		t.Fatal(err)
	}
	role := func(r probes.Role) string { return probes.MustLoad().OfRole(r)[0].Name }
	for name, c := range map[string]struct {
		versions       []int
		version, tries int
	}{
		"none":         {nil, 0, 0},
		"once":         {[]int{1}, 0, 0},
		"each once":    {[]int{1, 2, 3}, 0, 0},
		"the last one": {[]int{1, 2, 3, 3, 3}, 3, 3},
		"an older one": {[]int{1, 1, 1, 2}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := []call{{step: role(probes.RoleTurn)}}
			for _, v := range c.versions {
				calls = append(calls, call{step: role(probes.RoleSendStatus), fields: []*agentpb.Field{field("version", v)}})
			}
			s := storyOf(t, info, calls)
			got := Seen(s, 1, s.positionAfter(s.History.End()-1)).Resent
			switch {
			case c.tries == 0 && got != nil:
				t.Errorf("sent again: %+v", got)
			case c.tries > 0 && (got == nil || got.Tries != c.tries || got.Version != int64(c.version) || !got.First.Before(got.Last)):
				t.Errorf("got %+v, want version %d, %d times", got, c.version, c.tries)
			}
		})
	}
}
