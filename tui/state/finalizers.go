package state

import (
	"strings"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// finalizers lists those of a pod that is being deleted; empty if none are known.
func (s *State) finalizers(p *life.Pod) string {
	return words.Cut(words.OneLine(strings.Join(s.lives.FinalizersOf(p), ", ")), maxReason)
}

// whyLingers says what a pod waits for that the node is finished with.
func (s *State) whyLingers(name string, p *life.Pod) (string, *probes.Event) {
	names := s.finalizers(p)
	if names == "" {
		return s.lang.Inf(words.Text("%s: its containers are stopped and its volumes are gone. The API server still has its object.", "%s：容器已停止，卷已清理。API server 中还有它的对象。"), name), nil
	}
	e, _ := s.h.Event(p.Finalizers)
	return s.lang.Inf(words.Text("%s: its containers are stopped and its volumes are gone. The API server keeps its object until its finalizers are removed: %s.",
		"%s：容器已停止，卷已清理。API server 会保留它的对象，直到它的 finalizer 被移除：%s。"), name, names), &e
}
