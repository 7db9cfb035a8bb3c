package redact

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Message returns a copy of m with the parts that may be shown. It keeps texts and bytes only in fields that
// messageFields names, so that a new field of a later CRI is not shown until somebody has looked at it. It keeps
// numbers and enumerations, and leaves out fields that this version does not know.
func Message(m proto.Message) proto.Message {
	c := messageCleaner{}
	if config := containerConfig(m); config != nil {
		c.values = valuesOf(config.GetEnvs())
	}
	return c.message(m.ProtoReflect()).Interface()
}

func containerConfig(m proto.Message) *runtimeapi.ContainerConfig {
	switch m := m.(type) {
	case *runtimeapi.ContainerConfig:
		return m
	case *runtimeapi.CreateContainerRequest:
		return m.GetConfig()
	}
	return nil
}

// messageCleaner makes the copy of one message.
type messageCleaner struct {
	values []string // of environment variables, the longest first
}

func (c *messageCleaner) message(m protoreflect.Message) protoreflect.Message {
	out := m.New()
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			c.mapping(out, f, v.Map())
		case f.IsList():
			c.list(out, f, v.List())
		default:
			if v, ok := c.value(f, v); ok {
				out.Set(f, v)
			}
		}
		return true
	})
	return out
}

// value returns the part of a value that is shown; ok is false if nothing is.
func (c *messageCleaner) value(f protoreflect.FieldDescriptor, v protoreflect.Value) (_ protoreflect.Value, ok bool) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return protoreflect.ValueOfMessage(c.message(v.Message())), true
	case protoreflect.BytesKind:
		return protoreflect.Value{}, false
	case protoreflect.StringKind:
		if v.String() == "" {
			return v, true
		}
		if messageFields[f.FullName()] == ShowText {
			return protoreflect.ValueOfString(Text(v.String())), true
		}
		return protoreflect.ValueOfString(Redacted), true
	}
	return v, true
}

func (c *messageCleaner) list(out protoreflect.Message, f protoreflect.FieldDescriptor, from protoreflect.List) {
	if how := messageFields[f.FullName()]; how == ShowCommand || how == ShowOptions {
		words := make([]string, from.Len())
		for i := range words {
			words[i] = c.hide(from.Get(i).String())
		}
		to := out.Mutable(f).List()
		clean := Command
		if how == ShowOptions {
			clean = options
		}
		for _, w := range clean(words) {
			to.Append(protoreflect.ValueOfString(w))
		}
		return
	}
	to := out.Mutable(f).List()
	for i := range from.Len() {
		if v, ok := c.value(f, from.Get(i)); ok {
			to.Append(v)
		}
	}
}

// mapping copies a map. If the map may have texts and is not in the list of fields, nothing of it is shown, not even
// its keys.
func (c *messageCleaner) mapping(out protoreflect.Message, f protoreflect.FieldDescriptor, from protoreflect.Map) {
	how := messageFields[f.FullName()]
	if f.MapKey().Kind() == protoreflect.StringKind && how == 0 {
		return
	}
	to := out.Mutable(f).Map()
	from.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if f.MapKey().Kind() == protoreflect.StringKind {
			name := k.String()
			k = protoreflect.ValueOfString(Text(name)).MapKey()
			if f.MapValue().Kind() == protoreflect.StringKind {
				to.Set(k, protoreflect.ValueOfString(mapText(how, name, v.String())))
				return true
			}
		}
		if v, ok := c.value(f.MapValue(), v); ok {
			to.Set(k, v)
		}
		return true
	})
}

// mapText returns how a text in a map is shown.
func mapText(how Showing, name, v string) string {
	if how == ShowAnnotations && !plainAnnotation(name) {
		return Redacted
	}
	return named(name, v)
}

// valuesOf returns the values of environment variables, the longest first, since another may be part of it. It leaves
// out values of a letter or two: they would be found everywhere, and hide nothing.
func valuesOf(envs []*runtimeapi.KeyValue) (out []string) {
	for _, e := range envs {
		if len(e.GetValue()) >= 3 {
			out = append(out, string(e.GetValue()))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// hide takes the values of environment variables out of a word of a command: the
// kubelet expands $(NAME) there.
func (c *messageCleaner) hide(s string) string {
	for _, v := range c.values {
		s = strings.ReplaceAll(s, v, Redacted)
	}
	return s
}

// Map shows texts by their names. The map is the kubelet's and is not
// touched.
func Map(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[Text(k)] = named(k, v)
	}
	return out
}

// named shows the value that stands under a name.
func named(name, v string) string {
	if v != "" && kindOfKey(name) != plainKey {
		return Redacted
	}
	return Text(v)
}
