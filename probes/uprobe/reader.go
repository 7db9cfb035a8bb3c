//go:build linux

package uprobe

import (
	"go/parser"
	"strconv"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// side states what is read when a step's function is entered, or when it returns.
type side struct {
	pods   []source // the pod, or its parts
	lists  []source // the lists of pods, if there are any
	quiet  []source // the operands of the condition
	fields []source
	err    *source

	reads    []reading.Read
	elements []reading.Read
	element  []source // the parts of a pod that is in a list
	stride   int
	arch     string
	entry    bool // something is read through the registers of the entry
}

// source is one value: slot is the place in a record that has it.
type source struct {
	name string
	form *memory.Form
	slot int // -1: it is not read
}

// reader plans what is read at a step.
type reader struct {
	table *memory.Table
	step  *step
	arch  string // of the program, as Go names it
}

func (r *reader) enter() *side {
	s := &side{arch: r.arch}
	if !r.step.Pod.Exit {
		r.pods(s)
	}
	for _, f := range r.step.Fields {
		s.fields = append(s.fields, r.value(s, memory.Enter, f.Name))
	}
	return s
}

func (r *reader) exit() *side {
	s := &side{arch: r.arch}
	if r.step.Pod.Exit {
		r.pods(s)
	}
	r.quiet(s)
	for _, f := range r.step.Results {
		s.fields = append(s.fields, r.value(s, memory.Exit, f.Name))
	}
	if v, ok := r.table.Value(r.step.Name, memory.Error, "error"); ok && v.Form != nil {
		x := s.addRead("error", v.Form, true)
		s.err = &x
	}
	return s
}

// pods plans the reads of a call's pods.
func (r *reader) pods(s *side) {
	one := func(names ...string) {
		for _, n := range names {
			s.pods = append(s.pods, r.part(s, n))
		}
	}
	switch r.step.Pod.Kind {
	case probes.PodObject, probes.PodSandboxConfig:
		one(memory.UID, memory.Namespace, memory.Name)
	case probes.PodUID:
		one(memory.UID)
	case probes.PodCRIID:
		one(memory.ID)
	case probes.PodList, probes.PodObjects:
		r.lists(s, memory.List)
	case probes.PodUpdates:
		for _, u := range r.step.Pod.Updates {
			r.lists(s, u.Op)
		}
	}
}

// part plans the read of a part of a pod: its uid, its namespace, its name, or an id.
func (r *reader) part(s *side, name string) source {
	v, _ := r.table.Value(r.step.Name, memory.Pod, name)
	return s.addRead(name, v.Form, r.step.Pod.Exit)
}

// lists plans the read of a list of pods. The first list of a side also plans what is read of each pod.
func (r *reader) lists(s *side, name string) {
	v, _ := r.table.Value(r.step.Name, memory.Pod, name)
	x := s.addRead(name, v.Form, r.step.Pod.Exit)
	s.lists = append(s.lists, x)
	if x.slot < 0 || len(s.elements) > 0 {
		return
	}
	s.stride = 8
	if v.Form.Kind == memory.Interfaces {
		s.stride = 16
	}
	for _, part := range []string{memory.UID, memory.Namespace, memory.Name, memory.Version} {
		v, _ := r.table.Value(r.step.Name, memory.Pod, part)
		spec, ok := specOf(v.Form, r.arch, false)
		if !ok {
			return
		}
		s.element = append(s.element, source{part, v.Form, len(s.elements)})
		s.elements = append(s.elements, spec)
	}
}

// value plans the read of a field.
func (r *reader) value(s *side, side memory.Side, name string) source {
	v, _ := r.table.Value(r.step.Name, side, name)
	x := s.addRead(name, v.Form, side == memory.Exit)
	if x.slot < 0 {
		r.step.missing = append(r.step.missing, name)
	}
	return x
}

// quiet plans the reads of the operands of the condition under which a call is no event.
func (r *reader) quiet(s *side) {
	when, ok := r.table.Value(r.step.Name, memory.Quiet, memory.When)
	if !ok || when.Words == "" {
		return
	}
	e, err := parser.ParseExpr(when.Words)
	if err != nil {
		return
	}
	var operands []source
	for i := 0; ; i++ {
		name := "v" + strconv.Itoa(i)
		v, ok := r.table.Value(r.step.Name, memory.Quiet, name)
		if !ok {
			break
		}
		x := s.addRead(name, v.Form, true)
		if x.slot < 0 {
			return
		}
		operands = append(operands, x)
	}
	s.quiet, r.step.quiet = operands, e
}

// addRead plans the read of a value of a form, in the next slot. An error and a list take two slots.
func (s *side) addRead(name string, f *memory.Form, exit bool) source {
	spec, ok := specOf(f, s.arch, exit)
	if !ok {
		return source{name, f, -1}
	}
	if spec.In == reading.InEntry {
		s.entry = true
	}
	x := source{name, f, len(s.reads)}
	s.reads = append(s.reads, spec)
	if spec.Kind == reading.KindError || spec.Kind == reading.KindList {
		s.reads = append(s.reads, reading.Read{In: reading.InSkip})
	}
	return x
}

// specOf returns how the program reads a value of a form on an architecture. ok is false if it cannot.
func specOf(f *memory.Form, arch string, exit bool) (r reading.Read, ok bool) {
	if f == nil || len(f.Hops) > reading.MaxHops {
		return r, false
	}
	from := f.Place(arch)
	r.At, r.Hops = int32(from.At), uint8(len(f.Hops))
	switch from.In {
	case memory.Stack:
		r.In = reading.InStack
	case memory.Element:
		r.In = reading.InElement
	case memory.Register:
		if exit {
			r.In = reading.InEntry
		}
	}
	switch f.Kind {
	case memory.String:
		r.Kind = reading.KindText
	case memory.Time:
		r.Kind = reading.KindTime
	case memory.Interface:
		r.Kind = reading.KindError
	case memory.Pointers, memory.Interfaces:
		r.Kind = reading.KindList
	}
	if f.Zero {
		r.Zero = 1
	}
	for i, h := range f.Hops {
		r.Hop[i] = int32(h.Offset)
	}
	return r, true
}
