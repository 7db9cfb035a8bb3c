package gather

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestLogQuery: a kubelet on another machine is asked for its log if its settings allow that. Of many pods at once
// nobody asks for it.
func TestLogQuery(t *testing.T) {
	line := func(ago time.Duration, text string) string {
		at := time.Now().UTC().Add(-ago)
		return fmt.Sprintf("%s no-such-node kubelet[7]: E%s       7 kubelet.go:1] %s\n", at.Format(time.StampMicro), at.Add(8*time.Hour).Format("0102 15:04:05.000000"), text)
	}
	log := line(time.Hour, `"Error syncing pod, skipping" err="old" pod="default/hang"`) +
		line(time.Minute, `"Error syncing pod, skipping" err="new" pod="default/hang"`) +
		line(time.Minute, `"Error syncing pod, skipping" err="of another" pod="default/other"`)
	for name, c := range map[string]struct {
		setting string
		whole   bool
		want    int
		asked   bool
	}{
		"allowed":     {`true`, false, 1, true},
		"not allowed": {`false`, false, 0, false},
		"many pods":   {`true`, true, 0, false},
	} {
		api, asked := proxy(t, map[string]string{
			pathPods: kubeletsPods(t), pathConfigz: `{"kubeletconfig":{"maxPods":110,"enableSystemLogQuery":` + c.setting + `}}`, pathLogs: log,
		})
		s := look(t, &Kubelet{API: api, Whole: c.whole}, onNode(""))
		var lines []evidence.Line
		if s.Machine != nil {
			lines = s.Machine.Lines
		}
		if len(lines) != c.want || c.want > 0 && lines[0].Error != "new" || slices.Contains(*asked, proxied+pathLogs) != c.asked {
			t.Errorf("%s: %+v, asked %q", name, lines, *asked)
		}
		if _, has := s.Origin(evidence.Log, "log"); has != c.asked {
			t.Errorf("%s: the origins are %+v", name, s.Origins)
		}
	}
	api, _ := proxy(t, map[string]string{pathConfigz: `{"kubeletconfig":{"enableSystemLogQuery":true}}`, pathLogs: "500 no journal"})
	s := look(t, &Kubelet{API: api}, onNode(""))
	if !slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool {
		return u.Source == evidence.Log && strings.Contains(u.Message, "no journal")
	}) {
		t.Errorf("unseen %+v", s.Unseen)
	}
	// A kubelet that allows no queries answers with the list of its files, which is no log: neither here nor in a bundle.
	api, _ = proxy(t, map[string]string{
		pathConfigz: `{"kubeletconfig":{"enableSystemLogQuery":true}}`, pathLogs: "<!doctype html>\n<pre>\n<a href=\"syslog\">syslog</a>\n</pre>\n",
	})
	s = look(t, &Kubelet{API: api}, onNode(""))
	if !slices.ContainsFunc(s.Unseen, func(u evidence.Unseen) bool {
		return u.Source == evidence.Log && strings.Contains(u.Message, "allows no node log queries")
	}) {
		t.Errorf("unseen %+v", s.Unseen)
	}
	for answer, want := range map[string]string{"<pre>\n</pre>\n": "allows no node log queries", "log not found for kubelet\n": "no line of kubelet"} {
		api, _ := proxy(t, map[string]string{pathLogs: answer})
		p := &port{ways: []way{through(api, "no-such-node")}}
		if text, err := p.keptQuery(t.Context(), "kubelet"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: kept %q, %v", answer, text, err)
		}
	}
}
