package values

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

// maxDocument bounds a field that is a document, in bytes.
const maxDocument = 8 << 10

// fieldOf makes a field of a value that a step shows. Values are the kubelet's own, and may change as soon as its
// function goes on. So nothing of them is kept, least of all v itself: see hook.Taker. ok is false for nil, and for a
// value that has no plain form.
func fieldOf(name string, v any) (wire.Field, bool) {
	switch v := v.(type) {
	case nil:
		return wire.Field{}, false
	case string:
		return wire.Text(name, Text(v)), true
	case bool:
		return wire.Flag(name, v), true
	case int:
		return wire.Number(name, int64(v)), true
	case int64:
		return wire.Number(name, v), true
	case time.Duration:
		return wire.Duration(name, v), true
	}
	return objectField(name, v)
}

// objectField is fieldOf for values whose methods are called: a method of a nil pointer may panic.
func objectField(name string, v any) (f wire.Field, ok bool) {
	defer func() {
		if recover() != nil {
			f, ok = wire.Field{}, false
		}
	}()
	switch v := v.(type) {
	case time.Time:
		return timeField(name, v)
	case metav1.Time:
		return timeField(name, v.Time)
	case *metav1.Time:
		if v == nil {
			return wire.Field{}, false
		}
		return timeField(name, v.Time)
	case proto.Message:
		return messageField(name, v)
	case error:
		return wire.Text(name, Error(v)), true
	case []string:
		return documentField(name, redact.List(name, v))
	case map[string]string:
		return documentField(name, redact.Map(v))
	case fmt.Stringer:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
			return wire.Field{}, false
		}
		return wire.Text(name, Text(v.String())), true
	}
	return kindField(name, reflect.ValueOf(v))
}

// kindField shows a value by its underlying kind: enumerations, named strings,
// and pointers to them.
func kindField(name string, v reflect.Value) (wire.Field, bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return wire.Field{}, false
		}
		return fieldOf(name, v.Elem().Interface())
	case reflect.String:
		return wire.Text(name, Text(v.String())), true
	case reflect.Bool:
		return wire.Flag(name, v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return wire.Number(name, v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return wire.Number(name, int64(v.Uint())), true
	case reflect.Float32, reflect.Float64:
		return wire.Real(name, v.Float()), true
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.String:
			words := make([]string, v.Len())
			for i := range words {
				words[i] = v.Index(i).String()
			}
			return documentField(name, redact.List(name, words))
		case reflect.Int, reflect.Int32, reflect.Int64:
			return documentField(name, hook.Keep(v.Interface()))
		case reflect.Interface:
			return formField(name, hook.Keep(v.Interface()))
		}
	}
	return wire.Field{}, false
}

// Form makes a document of a list of values, if it knows what they are together. It takes secrets out of what it makes, and
// keeps nothing of the list.
type Form func(list any) (document any, ok bool)

// form is the one that this program has; nil: none.
var form atomic.Pointer[Form]

// SetForm sets the form of lists of values of several types. The program around the agent knows these types; this package
// knows none of the kubelet's own.
func SetForm(f Form) { form.Store(&f) }

func formField(name string, list any) (wire.Field, bool) {
	f := form.Load()
	if f == nil || *f == nil {
		return wire.Field{}, false
	}
	document, ok := (*f)(list)
	if !ok {
		return wire.Field{}, false
	}
	return documentField(name, document)
}

func timeField(name string, t time.Time) (wire.Field, bool) {
	if t.IsZero() {
		return wire.Field{}, false
	}
	return wire.Text(name, t.UTC().Format(time.RFC3339Nano)), true
}

func documentField(name string, v any) (wire.Field, bool) {
	b, err := json.Marshal(v)
	if err != nil {
		return wire.Field{}, false
	}
	return document(name, b), true
}

// messageField shows a CRI message without its secrets. It does not touch the message itself, which is the kubelet's.
func messageField(name string, m proto.Message) (wire.Field, bool) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return wire.Field{}, false
	}
	b, err := protojson.Marshal(redact.Message(m))
	if err != nil {
		return wire.Field{}, false
	}
	return document(name, b), true
}

func document(name string, b []byte) wire.Field {
	if len(b) > maxDocument {
		return wire.JSON(name, wire.CutDocument(len(b)))
	}
	return wire.JSON(name, string(b))
}
