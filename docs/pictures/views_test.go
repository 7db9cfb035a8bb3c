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

// logged: the values of a log, at the step and below its line.
func (s *studio) logged() {
	s.kubectl("delete", "--ignore-not-found", "-f", shop, "-l", "app=api")
	s.lab.Must("break", "add", "shop/*", "--step", "status.patch", "--on", "exit", "--action", "log=phase,took")
	s.kubectl("create", "-f", shop, "-l", "app=api")
	s.kubectl("-n", "shop", "wait", "--timeout=2m", "--for", "condition=Ready", "pod/api")
	c := s.open(140, 40)
	c.choose("shop/api")
	c.Press(":")
	c.Until("Commands, pods and steps")
	c.Type("status.patch")
	c.Press("Enter")
	c.Until("phase=Running, took=")
	c.take("logged", picture.Dark)
	c.Press("q")
	c.Usable()
	s.lab.Must("break", "rm", "--all")
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
