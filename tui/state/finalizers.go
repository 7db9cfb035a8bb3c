package state

import (
	"encoding/json"
	"strings"

	"github.com/podstep/podstep/probes"
)

// doom notes that the pod's object is being deleted, and which finalizers it has.
func (p *podNow) doom(f *fact) {
	p.doomed, p.finalizers = true, none
	if len(finalizersOf(f.raw)) > 0 {
		p.finalizers = f.pos
	}
}

func finalizersOf(raw []byte) (names []string) {
	if l := lookup(raw, "finalizers"); l.ok && json.Unmarshal(l.text, &names) != nil {
		return nil
	}
	return names
}

// finalizers are those that a pod's object had when the kubelet last saw it, or
// the cluster last told; empty if none are known.
func (s *State) finalizers(p *podNow) string {
	if p.finalizers == none {
		return ""
	}
	return cut(oneLine(strings.Join(finalizersOf(s.arena.at(p.finalizers)), ", ")), maxReason)
}

// lingers tells whether the node has done its part of a deletion, and the API
// server still has the pod's object: most often because of its finalizers.
func (s *State) lingers(p *podNow) bool {
	if p.removed || !p.doomed {
		return false
	}
	if !s.epoch.beside {
		return p.finished
	}
	// The kubelet asks for the removal with a grace period of zero.
	return p.finalizers != none && p.at == none && lookup(s.arena.at(p.finalizers), "grace").num == 0
}

// whyLingers says what a pod waits for that the node is finished with.
func (s *State) whyLingers(name string, p *podNow) (string, *probes.Event) {
	names := s.finalizers(p)
	if names == "" {
		return s.lang.sayf(text("%s: its containers are stopped and its volumes are gone. The API server still has its object.", "%s：容器已停止，卷已清理。API server 中还有它的对象。"), name), nil
	}
	e, _ := s.event(p.finalizers)
	return s.lang.sayf(text("%s: its containers are stopped and its volumes are gone. The API server keeps its object until its finalizers are removed: %s.",
		"%s：容器已停止，卷已清理。API server 会保留它的对象，直到它的 finalizer 被移除：%s。"), name, names), &e
}
