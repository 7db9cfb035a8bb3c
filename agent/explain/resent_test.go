package explain

import (
	"reflect"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
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

// TestSlowSends: older versions count as long as each of them took long to send.
func TestSlowSends(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC) }
	type send struct{ version, from, to int }
	for name, c := range map[string]struct {
		newestFirst []send
		want        *evidence.Resent
	}{
		"all slow":       {[]send{{5, 20, 30}, {3, 10, 20}, {1, 0, 10}}, &evidence.Resent{Version: 5, Tries: 1, First: at(20), Last: at(30), Slow: 2, SlowSince: at(0)}},
		"a quick one":    {[]send{{5, 20, 30}, {3, 10, 20}, {2, 9, 10}, {1, 0, 9}}, &evidence.Resent{Version: 5, Tries: 1, First: at(20), Last: at(30), Slow: 1, SlowSince: at(10)}},
		"and sent again": {[]send{{5, 30, 40}, {5, 20, 30}, {3, 10, 20}}, &evidence.Resent{Version: 5, Tries: 2, First: at(20), Last: at(40), Slow: 1, SlowSince: at(10)}},
		"only the last":  {[]send{{5, 20, 30}, {3, 19, 20}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s resends
			for _, one := range c.newestFirst {
				s.count(int64(one.version), at(one.from), at(one.to))
			}
			if got := s.resent(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
