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

// logged: the lines of a logpoint in the story of a pod that nobody holds.
func (s *studio) logged() {
	s.kubectl("delete", "--ignore-not-found", "-f", shop, "-l", "app=api")
	s.lab.Must("break", "add", "shop/api", "--step", "cri.RunPodSandbox", "--action", "log=runtimeHandler")
	s.lab.Must("break", "add", "shop/api", "--step", "cri.*", "--on", "exit", "--action", "log=took, err")
	s.kubectl("create", "-f", shop, "-l", "app=api")
	s.kubectl("-n", "shop", "wait", "--timeout=2m", "--for", "condition=Ready", "pod/api")
	c := s.open(120, 46)
	c.choose("shop/api")
	c.Press("e")
	c.Until("log")
	c.take("logged", picture.Dark)
	c.Press("q")
	c.Usable()
	s.lab.Must("break", "rm", "--all")
}

// culprit: a pod that waits for another one's pull, and who that is.
func (s *studio) culprit() {
	text := ""
	for _, name := range []string{"catalog", "search"} {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, annotations: {sim.podstep.dev/pull: hang}}\n"+
			"spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: 'registry.example/%s:1'}]}\n", name, name)
	}
	file := filepath.Join(s.t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("create", "-f", file)
	c := s.open(120, 36)
	c.choose("shop/search")
	c.Press("w")
	c.Until("culprit")
	c.take("culprit", picture.Dark)
	c.Press("q")
	c.Usable()
	s.kubectl("delete", "-f", file)
}
