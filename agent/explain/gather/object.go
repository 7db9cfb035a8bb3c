package gather

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/redact"
)

// shownPart returns a copy of an object of the API with the texts that may be shown. It keeps texts only in members that
// package redact lists by their type, so that a member of a later API is not shown until somebody has looked at it.
// Numbers, times and enumerations stay.
func shownPart[T any](object *T) *T {
	out := new(T)
	copyShown(reflect.ValueOf(out).Elem(), reflect.ValueOf(object).Elem(), 0, "")
	return out
}

// copyShown copies the part of a value that is shown. key is what stands beside the value as its name.
func copyShown(to, from reflect.Value, how redact.Showing, key string) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyShown(to.Elem(), from.Elem(), how, key)
		}
	case reflect.Struct:
		copyMembers(to, from)
	case reflect.String:
		to.SetString(shownText(from, how, key))
	case reflect.Slice:
		copyList(to, from, how, key)
	case reflect.Map:
		copyMap(to, from, how)
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Float64:
		to.Set(from)
	}
}

func copyMembers(to, from reflect.Value) {
	switch v := from.Interface().(type) {
	case metav1.Time:
		to.Set(reflect.ValueOf(v))
		return
	case metav1.MicroTime:
		to.Set(reflect.ValueOf(v))
		return
	case resource.Quantity:
		to.Set(reflect.ValueOf(v.DeepCopy()))
		return
	}
	t := from.Type()
	key := ""
	if k := from.FieldByName("Key"); k.IsValid() && k.Kind() == reflect.String {
		key = k.String()
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			copyShown(to.Field(i), from.Field(i), redact.Member(t.PkgPath()+"."+t.Name(), f.Name), key)
		}
	}
}

// shownText returns what is shown of a text: a text of a type of its own is an enumeration or a name.
func shownText(v reflect.Value, how redact.Showing, key string) string {
	switch {
	case v.Len() == 0:
		return ""
	case v.Type().PkgPath() != "":
		how = redact.ShowText
	}
	return how.Named(key, v.String())
}

func copyList(to, from reflect.Value, how redact.Showing, key string) {
	n := from.Len()
	switch kind := from.Type().Elem().Kind(); {
	case from.IsNil() || kind == reflect.Uint8:
		return
	case how == redact.ShowCommand:
		n = min(n, 1) // the program
	}
	to.Set(reflect.MakeSlice(from.Type(), n, n))
	for i := range n {
		if how == redact.ShowCommand {
			to.Index(i).SetString(redact.Command([]string{from.Index(i).String()})[0])
			continue
		}
		copyShown(to.Index(i), from.Index(i), how, key)
	}
}

// copyMap copies a map. If it has texts and is not listed, nothing of it is shown, not even its keys.
func copyMap(to, from reflect.Value, how redact.Showing) {
	plain := from.Type().Key().PkgPath() != ""
	if from.IsNil() || how == 0 && !plain {
		return
	}
	to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
	for each := from.MapRange(); each.Next(); {
		key := reflect.New(from.Type().Key()).Elem()
		key.SetString(redact.Text(each.Key().String()))
		value := reflect.New(from.Type().Elem()).Elem()
		copyShown(value, each.Value(), how, each.Key().String())
		to.SetMapIndex(key, value)
	}
}
