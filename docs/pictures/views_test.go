//go:build pictures

package pictures

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/podstep/podstep/tui/picture"
)

// durations: how long the steps of all pods took.
func (s *studio) durations() {
	c := s.open(140, 36)
	c.Until(" payments")
	c.Press("d")
	c.Until("p99")
	c.take("durations", picture.Dark)
	c.Press("q")
	c.Usable()
}

// culprit: a pod that waits for another one's pull, and who that is.
func (s *studio) culprit() {
	text := ""
	for _, name := range []string{"reviews", "offers"} {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, annotations: {sim.podstep.dev/pull: hang}}\n"+
			"spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: 'registry.example/%s:1'}]}\n", name, name)
	}
	file := filepath.Join(s.t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("create", "-f", file)
	c := s.open(120, 36)
	c.choose("shop/offers")
	c.Press("w")
	c.Until("culprit")
	c.take("culprit", picture.Dark)
	c.Press("q")
	c.Usable()
	s.kubectl("delete", "-f", file)
}
