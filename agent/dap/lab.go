package dap

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/client"
)

// Lab is a node of the editor's own, for one session.
type Lab interface {
	// Place is where the node's agent is.
	Place() client.Place
	// Create makes the objects of a manifest, a file, or without one a pod of that name, which only waits. It returns what it
	// made, in words.
	Create(ctx context.Context, manifest, namespace, name string) (string, error)
	// Close begins to end the node.
	Close()
}

// launchLab starts a node, and attaches to its pods. When the editor has set its breakpoints, it makes the pod.
func (s *session) launchLab(r *dap.LaunchRequest, a *launchArguments) error {
	switch {
	case s.opts.Lab == nil:
		return fmt.Errorf("this podstep dap starts no lab")
	case len(a.Trace) > 0:
		return fmt.Errorf("\"lab\" starts a node and \"trace\" replays a recording; give one of them")
	case a.Pod == "":
		return fmt.Errorf("which pod? give \"pod\" as NAME or NAMESPACE/NAME: podstep makes it in the lab, unless \"manifest\" names the file that does")
	}
	sel, err := podsOf(a.Pod, a.Namespace)
	if err != nil {
		return err
	}
	if a.Manifest == "" && sel.HasGlob() {
		return fmt.Errorf("no pod can have the name %s; give \"manifest\", the file that makes the pods", sel.Written())
	}
	args := &attachArguments{Lease: a.Lease, Wait: a.Wait, Force: a.Force, GoFrames: a.GoFrames}
	return s.start(r, a.Breakpoints, &dap.LaunchResponse{Response: done(r)}, func(ctx context.Context) (target, error) {
		s.output(console, "a node of your own starts, in some 20 seconds; it ends with this session")
		lab, err := s.opts.Lab(ctx, func(line string) { s.output(console, "%s", line) })
		if err != nil {
			return nil, err
		}
		l, err := newLive(ctx, s, sel, args, lab.Place())
		if err != nil {
			lab.Close()
			return nil, err
		}
		l.lab, l.create = lab, func() {
			made, err := lab.Create(ctx, a.Manifest, sel.GetNamespace(), sel.GetName())
			if err != nil {
				s.output(important, "the pod was not made: %v", err)
				return
			}
			s.output(console, "%s", strings.TrimSpace(made))
		}
		return l, nil
	})
}
