package pods

import (
	"path"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// Selector says which pods are meant. Globs are path.Match's.
type Selector struct {
	namespace, name, uid string
	labels               map[string]string
}

// NewSelector reads a selector, and refuses a glob that makes no sense.
func NewSelector(p *agentpb.PodSelector) (*Selector, error) {
	s := &Selector{namespace: p.GetNamespace(), name: p.GetName(), uid: p.GetUid(), labels: p.GetLabels()}
	for _, glob := range []string{s.namespace, s.name} {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, reason.Failed(codes.InvalidArgument, &agentpb.Problem{Code: agentpb.Problem_BAD_POD_PATTERN, Args: map[string]string{"pattern": glob}})
		}
	}
	return s, nil
}

// Is reports whether a selector means the pod.
func (p *Pod) Is(s *Selector) bool {
	if s.uid != "" && s.uid != p.UID {
		return false
	}
	if s.namespace != "" || s.name != "" {
		namespace, name := p.Names()
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
