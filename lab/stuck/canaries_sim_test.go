//go:build sim

package stuck

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/words"
)

// TestCanaries: pods have known secrets in all possible places. None is in a snapshot, in a finding, or in the
// command's output.
func TestCanaries(t *testing.T) {
	l := shared.For(t)
	c := labtest.NewCanaries(t, l, "why")
	c.CreateAll(t)
	for _, pod := range []string{"talker", "probed", "hooked", "pulled", "misnamed"} {
		t.Run(pod, func(t *testing.T) {
			t.Parallel()
			name := evidence.Name{Namespace: "default", Name: c.Name(pod)}
			rounds := 0 // rounds in which the kubelet was seen to have begun with the pod
			labtest.Eventually(t, "events about "+pod, func() bool {
				for _, way := range []Way{API, Woven} {
					s := simSources(t, l, way).Pod(t.Context(), name)
					text, err := json.Marshal(s)
					if err != nil {
						t.Fatal(err)
					}
					c.Silent(t, "the snapshot of "+pod, string(text))
					r := causes.Explain(s)
					c.Silent(t, "the report on "+pod, textsOf(r))
					if slices.ContainsFunc(s.Cluster.Events, func(e evidence.Event) bool { return e.Component == "kubelet" }) {
						rounds++
					}
				}
				return rounds > 20
			})
			for _, format := range []string{"json", "yaml"} {
				out, _, _ := l.Podstep("why", name.Name, "-n", "default", "-o", format)
				c.Silent(t, "podstep why -o "+format, out)
			}
			out, _, _ := l.Podstep("why", name.Name, "-n", "default", "--lang", "zh")
			c.Silent(t, "podstep why", out)
		})
	}
	t.Cleanup(func() {
		for _, p := range c.Pods {
			l.Delete(p.Name)
		}
	})
}

// textsOf returns all texts of a report.
func textsOf(r *causes.Report) string {
	var b strings.Builder
	b.WriteString(r.Word())
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, l := range []words.Lang{words.English, words.Chinese} {
			b.WriteString(f.Title(l) + f.Sentence(l) + f.Clock(l) + f.Chain(l) + f.Shows(l))
			for _, d := range f.Advice(l) {
				b.WriteString(d.Text + d.Run)
			}
		}
		for _, e := range f.Evidence {
			b.WriteString(e.Where.En + e.Where.Zh + e.Text.En + e.Text.Zh + e.At.Format(time.RFC3339))
		}
	}
	return b.String()
}
