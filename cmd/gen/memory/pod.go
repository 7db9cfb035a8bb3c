package memory

import (
	"errors"
	"fmt"
	"go/parser"
	"go/types"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// podMembers are the members that identify a pod, by the kind of object that has them.
var podMembers = map[probes.PodKind]map[string]string{
	probes.PodObject:        {memory.UID: "UID", memory.Namespace: "Namespace", memory.Name: "Name", memory.Version: "ResourceVersion"},
	probes.PodSandboxConfig: {memory.UID: "GetMetadata().GetUid()", memory.Namespace: "GetMetadata().GetNamespace()", memory.Name: "GetMetadata().GetName()"},
}

// podNames are the values that identify a pod, in order.
var podNames = []string{memory.UID, memory.Namespace, memory.Name}

// pod writes how the pod of a call is read.
func (g *generator) pod(step *probes.Step, v *variables) {
	expr := step.Pod.Read()
	if expr == probes.MemoryInherits {
		g.line(step, memory.Pod, memory.UID, memory.Value{None: memory.Inherits})
		return
	}
	switch kind := step.Pod.Kind; kind {
	case probes.PodObject, probes.PodSandboxConfig:
		for _, name := range podNames {
			g.line(step, memory.Pod, name, v.form("("+expr+")."+podMembers[kind][name]))
		}
	case probes.PodUID:
		g.line(step, memory.Pod, memory.UID, v.form(expr))
	case probes.PodCRIID:
		g.line(step, memory.Pod, memory.ID, v.form(expr))
	case probes.PodList, probes.PodObjects:
		g.line(step, memory.Pod, memory.List, v.list(expr))
		g.elements(step, v, kind)
	case probes.PodUpdates:
		for _, u := range step.Pod.Updates {
			g.line(step, memory.Pod, u.Op, v.list(u.Expr))
		}
		g.elements(step, v, kind)
	}
}

// list returns the form of a slice of pods.
func (v *variables) list(expr string) memory.Value {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return memory.Value{None: memory.Computed}
	}
	x, err := v.valueOf(e)
	if err == nil {
		s, ok := x.typ.Underlying().(*types.Slice)
		kind := memory.Pointers
		if ok {
			if _, is := s.Elem().Underlying().(*types.Interface); is {
				kind = memory.Interfaces
			}
		} else {
			panic(fmt.Sprintf("%s is no list: %s", expr, x.typ))
		}
		f, err := x.formAs(kind)
		if err == nil {
			return memory.Value{Form: f}
		}
	}
	var why none
	if errors.As(err, &why) {
		return memory.Value{None: memory.Reason(why)}
	}
	panic(fmt.Sprintf("%s: %v", expr, err))
}

// elements writes how the pods of a list are read from its elements: pointers to pods, or
// interfaces, whose second word is such a pointer.
func (g *generator) elements(step *probes.Step, v *variables, kind probes.PodKind) {
	api, err := g.check("k8s.io/api/core/v1")
	if err != nil {
		panic(err) // the kubelet imports it
	}
	x := value{typ: types.NewPointer(api.Scope().Lookup("Pod").Type()), from: "element"}
	if kind == probes.PodObjects {
		x.offset = word
	}
	x = x.followed()
	x.element = true
	for _, name := range append(slices.Clone(podNames), memory.Version) {
		m, err := v.member(x, podMembers[probes.PodObject][name])
		if err != nil {
			panic(err) // a pod has a name
		}
		f, err := m.formAs(memory.String)
		if err != nil {
			panic(err) // it is in no register
		}
		g.line(step, memory.Pod, name, memory.Value{Form: f})
	}
}
