package cri

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// value is a value of a step, as a path of the catalogue finds it in a request or an answer.
type value struct {
	of func(m protoreflect.Message) any
	// zero is the value if there is no message: what a Go function returns with an error.
	zero any
}

// parseValue resolves a path in the messages of a type. The package's comment has its forms.
func parseValue(d protoreflect.MessageDescriptor, path string) (value, error) {
	if path == "." {
		return value{of: func(m protoreflect.Message) any { return m.Interface() }, zero: zeroOf(d)}, nil
	}
	if name, members, is := strings.Cut(strings.TrimSuffix(path, "}"), "{"); is {
		return gathered(d, name, strings.Split(members, ","))
	}
	path, unit, timed := strings.Cut(path, "*")
	path, asked := strings.CutSuffix(path, "?")
	w, err := parseWay(d, path)
	switch {
	case err != nil:
		return value{}, err
	case asked:
		return w.value(func(m protoreflect.Message) any { return m.Has(w.to) }, false), nil
	case timed:
		return w.duration(unit)
	}
	return w.member()
}

// gathered makes a message of members that it has in common with another.
func gathered(d protoreflect.MessageDescriptor, name string, members []string) (value, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName().Parent().Append(protoreflect.Name(name)))
	if err != nil {
		return value{}, fmt.Errorf("find message %q: %w", name, err)
	}
	var from, to []protoreflect.FieldDescriptor
	for _, n := range members {
		n := protoreflect.Name(strings.TrimSpace(n))
		f, g := d.Fields().ByName(n), t.Descriptor().Fields().ByName(n)
		if f == nil || g == nil || f.Message() == nil || f.Message() != g.Message() || f.IsMap() {
			return value{}, fmt.Errorf("%s and %s have no message %q in common", d.Name(), name, n)
		}
		from, to = append(from, f), append(to, g)
	}
	return value{zero: t.Zero().Interface(), of: func(m protoreflect.Message) any {
		out := t.New()
		for i, f := range from {
			if m.Has(f) {
				out.Set(to[i], m.Get(f))
			}
		}
		return out.Interface()
	}}, nil
}

// way leads from a message to one of its members, or to a member of a message in it.
type way struct {
	through []leg
	to      protoreflect.FieldDescriptor
}

// leg is a message on a way. If it is needed and not set, the way leads nowhere.
type leg struct {
	field  protoreflect.FieldDescriptor
	needed bool
}

func parseWay(d protoreflect.MessageDescriptor, path string) (w way, err error) {
	names := strings.Split(path, ".")
	for i, name := range names {
		name, needed := strings.CutSuffix(name, "?")
		f := d.Fields().ByName(protoreflect.Name(name))
		if f == nil {
			return way{}, fmt.Errorf("%s has no member %q", d.Name(), name)
		}
		if i == len(names)-1 {
			w.to = f
			return w, nil
		}
		if d = f.Message(); d == nil || f.Cardinality() == protoreflect.Repeated {
			return way{}, fmt.Errorf("%s is no message", f.FullName())
		}
		w.through = append(w.through, leg{f, needed})
	}
	return w, nil
}

// value reads the member at the end of the way. read reads it in the message that has it.
func (w way) value(read func(m protoreflect.Message) any, zero any) value {
	return value{zero: zero, of: func(m protoreflect.Message) any {
		for _, l := range w.through {
			if l.needed && !m.Has(l.field) {
				return zero
			}
			m = m.Get(l.field).Message()
		}
		return read(m)
	}}
}

func (w way) duration(unit string) (value, error) {
	one, err := time.ParseDuration(unit)
	if err != nil {
		return value{}, err
	}
	if w.to.Kind() != protoreflect.Int64Kind || w.to.IsList() {
		return value{}, fmt.Errorf("%s is no int64", w.to.FullName())
	}
	return w.value(func(m protoreflect.Message) any { return time.Duration(m.Get(w.to).Int()) * one }, time.Duration(0)), nil
}

func (w way) member() (value, error) {
	get := func(convert func(v protoreflect.Value) any, zero any) (value, error) {
		return w.value(func(m protoreflect.Message) any { return convert(m.Get(w.to)) }, zero), nil
	}
	switch kind := w.to.Kind(); {
	case w.to.IsList() && kind == protoreflect.StringKind:
		return get(stringsIn, []string(nil))
	case w.to.Cardinality() == protoreflect.Repeated:
		return value{}, fmt.Errorf("%s is repeated", w.to.FullName())
	case kind == protoreflect.StringKind:
		return get(func(v protoreflect.Value) any { return v.String() }, "")
	case kind == protoreflect.Int64Kind:
		return get(func(v protoreflect.Value) any { return v.Int() }, int64(0))
	case kind == protoreflect.Int32Kind:
		return get(func(v protoreflect.Value) any { return int(v.Int()) }, 0)
	case kind == protoreflect.Uint32Kind:
		return get(func(v protoreflect.Value) any { return int(v.Uint()) }, 0)
	case kind == protoreflect.EnumKind:
		names := w.to.Enum().Values()
		return get(func(v protoreflect.Value) any { return enumName(names, v.Enum()) }, "")
	case kind == protoreflect.MessageKind:
		return get(func(v protoreflect.Value) any { return v.Message().Interface() }, zeroOf(w.to.Message()))
	}
	return value{}, fmt.Errorf("%s is a %s, which no value is made of", w.to.FullName(), w.to.Kind())
}

func stringsIn(v protoreflect.Value) any {
	list := v.List()
	if list.Len() == 0 {
		return []string(nil)
	}
	out := make([]string, list.Len())
	for i := range out {
		out[i] = list.Get(i).String()
	}
	return out
}

// enumName returns the name of an enum's value, or the number of one that the CRI does not have.
func enumName(names protoreflect.EnumValueDescriptors, n protoreflect.EnumNumber) string {
	if d := names.ByNumber(n); d != nil {
		return string(d.Name())
	}
	return strconv.Itoa(int(n))
}

// zeroOf returns the nil pointer to a message of a type.
func zeroOf(d protoreflect.MessageDescriptor) proto.Message { return typeOf(d).Zero().Interface() }

// typeOf returns the Go type of the messages of a type that the CRI has.
func typeOf(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic("CRI message " + string(d.FullName()) + " is not registered") // it is generated with its service
	}
	return t
}
