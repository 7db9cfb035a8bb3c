package dap

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/client"
)

// playedLab plays a lab: the test is its node.
type playedLab struct {
	place   client.Place
	create  func(manifest, namespace, name string) error
	closed  chan struct{}
	created chan string
}

func (l *playedLab) Place() client.Place { return l.place }
func (l *playedLab) Close()              { close(l.closed) }
func (l *playedLab) Create(_ context.Context, manifest, namespace, name string) (string, error) {
	l.created <- strings.Join([]string{manifest, namespace, name}, ",")
	return "pod/" + name + " created\n", l.create(manifest, namespace, name)
}

// TestLaunchLab: a session starts a lab. Its pod is made once the editor has set its breakpoints, so that they hold it. The lab
// ends with the session.
func TestLaunchLab(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	lab := &playedLab{place: client.At(k.socket), closed: make(chan struct{}), created: make(chan string, 1)}
	var done chan struct{}
	lab.create = func(_, _, name string) error {
		done = k.create(newPod(name), nil)
		return nil
	}
	e := newEditor(t, Options{Lab: func(_ context.Context, report func(string)) (Lab, error) {
		report("etcd 1.0s")
		return lab, nil
	}})
	e.do("initialize", map[string]any{"clientID": "vscode", "adapterID": "podstep"})
	e.do("launch", map[string]any{"lab": true, "pod": "web", "breakpoints": []any{"cri.RunPodSandbox"}})
	e.printed("etcd 1.0s")
	if len(lab.created) != 0 {
		t.Error("the pod is made before the editor has set its breakpoints")
	}
	e.do("configurationDone", nil)
	if got := <-lab.created; got != ",,web" {
		t.Errorf("what is made is %s", got)
	}
	s := e.stopped()
	e.printed("pod/web created")
	e.do("continue", map[string]any{"threadId": s.ThreadId})
	<-done
	e.do("disconnect", nil)
	<-lab.closed
}

// TestLaunchLabRefused: what no lab can be started for, and a lab that does not start.
func TestLaunchLabRefused(t *testing.T) {
	e := newEditor(t, Options{Lab: func(context.Context, func(string)) (Lab, error) { return nil, errors.New("there is no podstep-lab") }})
	e.do("initialize", map[string]any{"clientID": "vscode", "adapterID": "podstep"})
	for text, c := range map[string]map[string]any{
		"which pod?":                    {"lab": true},
		"no pod can have the name web-": {"lab": true, "pod": "web-*"},
		"have the name shop-*/web":      {"lab": true, "pod": "web", "namespace": "shop-*"},
		"give one of them":              {"lab": true, "pod": "web", "trace": labTrace},
		"not a positive duration":       {"lab": true, "pod": "web", "lease": "soon"},
		"there is no podstep-lab":       {"lab": true, "pod": "web"},
	} {
		e.refused("launch", c, text)
	}
	without := newEditor(t, Options{})
	without.do("initialize", map[string]any{"clientID": "vscode", "adapterID": "podstep"})
	without.refused("launch", map[string]any{"lab": true, "pod": "web"}, "starts no lab")
}
