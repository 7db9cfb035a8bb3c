package agent

import (
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
)

// selector reports which pods are meant. Globs are path.Match's.
type selector struct {
	namespace, name, uid string
	labels               map[string]string
}

func newSelector(p *agentpb.PodSelector) (*selector, error) {
	s := &selector{namespace: p.GetNamespace(), name: p.GetName(), uid: p.GetUid(), labels: p.GetLabels()}
	for _, glob := range []string{s.namespace, s.name} {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, invalid(agentpb.Problem_BAD_POD_PATTERN, args{"pattern": glob})
		}
	}
	return s, nil
}

func (s *selector) matches(p *pod) bool {
	if s.uid != "" && s.uid != p.uid {
		return false
	}
	if s.namespace != "" || s.name != "" {
		namespace, name := p.names()
		if !globbed(s.namespace, namespace) || !globbed(s.name, name) {
			return false
		}
	}
	if len(s.labels) == 0 {
		return true
	}
	m := p.meta.Load()
	for k, v := range s.labels {
		if m == nil || m.labels[k] != v {
			return false
		}
	}
	return true
}

func globbed(glob, s string) bool {
	if glob == "" || glob == s {
		return true
	}
	ok, err := path.Match(glob, s)
	return ok && err == nil
}

// one finds the one pod that is meant. Of two pods of the same name, one after
// the other, it is the one that lives.
func (a *Agent) one(req *agentpb.PodSelector) (*pod, error) {
	s, err := newSelector(req)
	if err != nil {
		return nil, err
	}
	if s.name == "" && s.uid == "" {
		return nil, invalid(agentpb.Problem_POD_NOT_NAMED, nil)
	}
	var live, gone []*pod
	for _, p := range a.pods.all() {
		switch {
		case !s.matches(p):
		case p.gone():
			gone = append(gone, p)
		default:
			live = append(live, p)
		}
	}
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) > 1:
		return nil, invalid(agentpb.Problem_POD_AMBIGUOUS, args{"count": strconv.Itoa(len(live)), "pod": req.Written(), "pods": list(live)})
	case len(gone) > 0:
		return nil, notFound(agentpb.Problem_POD_GONE, args{"pod": req.Written()})
	}
	return nil, notFound(agentpb.Problem_POD_NOT_FOUND, args{"pod": req.Written()})
}

// list names some pods.
func list(pods []*pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.fullName())
	}
	sort.Strings(names)
	if len(names) > 5 {
		names = append(names[:5], "...")
	}
	return strings.Join(names, ", ")
}
