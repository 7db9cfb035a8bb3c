package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

// maxText bounds a text field, in bytes.
const maxText = 1 << 10

// toField makes a field of a value that a step shows. Values are the kubelet's
// own, and may change as soon as its function goes on: nothing is kept, and
// least of all v itself, see hook.Taker. ok is false for what there is no plain
// way to show, and for nil.
func toField(name string, v any) (field, bool) {
	switch v := v.(type) {
	case nil:
		return field{}, false
	case string:
		return text(name, cleanText(v)), true
	case bool:
		return flag(name, v), true
	case int:
		return number(name, int64(v)), true
	case int64:
		return number(name, v), true
	case time.Duration:
		return wire.Duration(name, v), true
	}
	return objectField(name, v)
}

// objectField is toField for what has methods that are called: one of a nil
// pointer may panic.
func objectField(name string, v any) (f field, ok bool) {
	defer func() {
		if recover() != nil {
			f, ok = field{}, false
		}
	}()
	switch v := v.(type) {
	case time.Time:
		return timeField(name, v)
	case metav1.Time:
		return timeField(name, v.Time)
	case *metav1.Time:
		if v == nil {
			return field{}, false
		}
		return timeField(name, v.Time)
	case proto.Message:
		return messageField(name, v)
	case error:
		return text(name, errorText(v)), true
	case []string:
		return documentField(name, redact.List(name, v))
	case map[string]string:
		return documentField(name, redact.Map(v))
	case fmt.Stringer:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
			return field{}, false
		}
		return text(name, cleanText(v.String())), true
	}
	return kindField(name, reflect.ValueOf(v))
}

// kindField shows a value by its underlying kind: enumerations, named strings,
// and pointers to them.
func kindField(name string, v reflect.Value) (field, bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return field{}, false
		}
		return toField(name, v.Elem().Interface())
	case reflect.String:
		return text(name, cleanText(v.String())), true
	case reflect.Bool:
		return flag(name, v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number(name, v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return number(name, int64(v.Uint())), true
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
		}
	}
	return field{}, false
}

func timeField(name string, t time.Time) (field, bool) {
	if t.IsZero() {
		return field{}, false
	}
	return text(name, t.UTC().Format(time.RFC3339Nano)), true
}

func documentField(name string, v any) (field, bool) {
	b, err := json.Marshal(v)
	if err != nil {
		return field{}, false
	}
	return document(name, b), true
}

// errorText is an error's text without secrets. An Error method that panics
// must not cost the event.
func errorText(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = "error that cannot be printed"
		}
	}()
	return cleanText(err.Error())
}

// clip makes a text short enough to be shown, and one that a message of the
// agent's may have: what a runtime or a container says can be any bytes, and a
// single string that is not UTF-8 costs the whole message.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
